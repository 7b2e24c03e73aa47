"""The null worker reads its cache: what a connector puts there wrongly changes what an engine says."""

from __future__ import annotations

import pytest

from kernelet.config import CacheConfig, SchedulerConfig
from kernelet.config.kv import KVTransferConfig
from kernelet.testing.kv_connector.fake import FakeWorker, fake_offer
from kernelet.testing.kv_connector.null_engine import kv_core
from kernelet.testing.kv_connector.script import LoadScript, World
from kernelet.testing.null.harness import null_engine_config, null_request
from kernelet.testing.null.model import FULL, SLIDING
from kernelet.testing.null.tokens import straight_line

VOCAB = 50
PROMPT = [7, 3, 9, 1, 4, 4, 8, 2, 6, 5, 0, 11, 12, 13]


class Liar(FakeWorker):
    """Confirms everything, and brings nothing."""

    def write(self, load, layer, valid):
        super().write(load, layer, 0)


def tokens(worker, script, hybrid=False, depth=1):
    """The tokens of a prompt that was computed before, and loads in which something else came than was confirmed."""
    world = World([LoadScript(), script])
    config = null_engine_config(
        vocab_size=VOCAB,
        max_model_len=64,
        layer_types=(FULL, SLIDING) if hybrid else (FULL,),
        window=6 if hybrid else None,
        cache=CacheConfig(block_size=4, num_blocks=40),
        scheduler=SchedulerConfig(max_num_batched_tokens=6, depth=depth),
    )
    core, executor = kv_core(
        config, [fake_offer(world, worker=worker)], KVTransferConfig(connectors=("fake",)), pause=lambda _: None
    )
    found = []
    for name in ("first", "second"):
        core.add_request(null_request(name, PROMPT, 8))
        core.reset_prefix_cache()
        found.append([])
        while core.has_unfinished():
            for output in core.step():
                found[-1] += output.token_ids
    assert world.did["loaded"] == 1
    return found, executor.worker.misled


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("script", [LoadScript(), LoadScript(sync=True), LoadScript(promised=0.5)])
def test_a_wrong_load_is_noticed(script, hybrid):
    expected = straight_line(null_request("r", PROMPT, 8), VOCAB)
    (first, second), misled = tokens(FakeWorker, script, hybrid)
    assert (first, second) == (expected, expected)
    assert not misled
    (first, second), misled = tokens(Liar, script, hybrid)
    assert first == expected != second
    assert set(misled) == {"second"}
