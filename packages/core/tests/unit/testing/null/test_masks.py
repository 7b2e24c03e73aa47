from __future__ import annotations

import numpy as np
import pytest

from kernelet.contracts.executor import SamplePlan
from kernelet.contracts.sampling import SamplerParams
from kernelet.testing.null.harness import null_core, null_engine_config, null_request
from kernelet.testing.null.masks import first_allowed

WORDS = -(-260 // 32)


def row(*tokens):
    bits = np.zeros(WORDS * 32, dtype=np.uint8)
    bits[list(tokens)] = 1
    return np.packbits(bits, bitorder="little").tobytes()


@pytest.mark.parametrize(
    "first, allowed, params, count, token",
    [
        (5, (5, 6), {}, 0, 5),
        (6, (5, 7), {}, 0, 7),
        (8, (5, 7), {}, 0, 5),
        (0, (), {}, 0, None),
        (0, (5, 7), {"allowed_token_ids": (7, 8)}, 0, 7),
        (0, (5, 7), {"min_tokens": 2, "suppressed_token_ids": (5,)}, 1, 7),
        (0, (5, 7), {"min_tokens": 2, "suppressed_token_ids": (5,)}, 2, 5),
        (0, (5,), {"min_tokens": 2, "suppressed_token_ids": (5,)}, 1, 5),
    ],
)
def test_the_first_that_is_allowed(first, allowed, params, count, token):
    assert first_allowed(first, row(*allowed), SamplerParams(seed=0, **params), count, 260) == token


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_masked_tokens_are_those_that_later_steps_see(depth):
    """The worker itself checks that what is in the cache is computed from the tokens that were sampled."""
    from kernelet.config import CacheConfig, SchedulerConfig

    config = null_engine_config(cache=CacheConfig(block_size=4), scheduler=SchedulerConfig(depth=depth))
    core, executor = null_core(config)
    plain = executor.sample

    def sample(plan):
        rows = {"a": row(65 + plan.step % 7, 90)}
        return plain(SamplePlan(step=plan.step, mask_rows=rows))

    executor.sample = sample
    core.add_request(null_request("a", [1] * 5, 10))
    core.add_request(null_request("b", [2] * 5, 10))
    got = {}
    while core.has_unfinished():
        for output in core.step():
            got.setdefault(output.request_id, []).extend(output.token_ids)
            assert output.error is None
    assert all(token == 90 or 65 <= token < 72 for token in got["a"])
    assert len(set(got["a"])) > 2
    assert len(got["b"]) == 10


def test_an_empty_row_fails_its_request():
    core, executor = null_core(null_engine_config())
    plain = executor.sample
    executor.sample = lambda plan: plain(SamplePlan(step=plan.step, mask_rows={"a": row()}))
    core.add_request(null_request("a", [1], 5))
    core.add_request(null_request("b", [1], 5))
    ends = {}
    while core.has_unfinished():
        ends |= {output.request_id: output for output in core.step() if output.finish_reason}
    assert ends["a"].error == "no token may be chosen"
    assert ends["b"].finish_reason == "length"
