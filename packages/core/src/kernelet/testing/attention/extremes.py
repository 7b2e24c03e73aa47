"""What goes wrong only in a large cache, with large scores, or with a scale that is not the usual one."""

from __future__ import annotations

import pytest
import torch

from kernelet.contracts.attention import AttentionSpec
from kernelet.testing.attention.layers import Layers
from kernelet.testing.attention.steps import PagedRequests, Requests, cache_spec_of, hold
from kernelet.testing.suite import Suite
from kernelet.testing.tensors import check_close
from kernelet.testing.verdict import ConformanceError

SIXTEEN_BITS = 1 << 15
LARGEST_CACHE = 1 << 25
"""Bytes of a cache whose blocks are more than 16 bits count; of a larger kind of block, only the slots are."""

QUERY, SCALE = 64.0, 0.25
KEYS = (-3200.0, -2400.0, -1600.0, -800.0, -4000.0)
"""Of five tokens. Scores of -51200 to -12800, then -64000: all are exact in 16 bits, and none is close to another."""


class ExtremesTests(Suite):
    """Part of ``AttentionSuite``."""

    def test_end_of_a_large_cache(self, layers: Layers, requests: Requests) -> None:
        spec = layers.plain(num_heads=1, num_kv_heads=1)
        if spec is None:
            pytest.skip("the offer serves neither full nor sliding layers")
        blocks_fit = (SIXTEEN_BITS + 64) * cache_spec_of(spec).page_bytes <= LARGEST_CACHE
        num_blocks = SIXTEEN_BITS + 64 if blocks_fit else SIXTEEN_BITS // spec.block_size + 64
        says = f"a cache of {num_blocks} blocks must be used to its end: its slots need more than 16 bits"
        try:
            mine = requests(spec, num_blocks=num_blocks)
            mine.free[:] = range(num_blocks - 16, num_blocks)
            hold(mine, ({"a": 5, "b": 2}, {"b": 1, "a": 1}), layers.tolerance(spec), says)
        except ConformanceError as error:
            raise ConformanceError(says) from error
        except Exception as error:
            raise ConformanceError(f"{says}; it raised {type(error).__name__}: {error}") from error

    def test_masked_has_no_weight(self, layers: Layers, requests: Requests) -> None:
        """Each token's score is far above those before it, and what comes later is far above that."""
        for dtype in layers.dtypes:
            spec = layers.plain(dtype=dtype, scale=SCALE)
            if spec is None:
                continue
            says = f"what is masked must have no weight, of scores of -50000 too: mask with -inf, in {dtype}"
            mine = requests(spec)
            for name, count, wanted in (("prompt", 4, slice(0, 4)), ("next token", 1, slice(3, 4))):
                found = far_apart(mine, count)
                check_close(found, mine.values["a"][wanted].cpu(), layers.tolerance(spec), f"{says} ({name})")

    def test_scale_is_that_of_the_spec(self, plain: AttentionSpec, layers: Layers, requests: Requests) -> None:
        for factor in (0.5, 3.0):
            spec = layers.plain(scale=factor * plain.scale)
            assert spec is not None
            says = "spec.scale must be used: scores are scale * q.k, whatever the head size"
            hold(requests(spec), ({"a": 7, "b": 2}, {"b": 1, "a": 1}), layers.tolerance(spec), says)


def far_apart(mine: PagedRequests, count: int) -> torch.Tensor:
    """The result of the next tokens of one request, whose scores are those of ``KEYS``."""
    start = mine.length("a")
    step = mine.plan({"a": count})
    step.query.zero_()
    step.key.zero_()
    step.query[..., 0] = QUERY
    step.key[..., 0] = torch.tensor(KEYS[start : start + count], dtype=mine.dtype, device=mine.device)[:, None]
    return mine.run(step)
