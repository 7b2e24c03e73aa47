"""Whatever a connector raises, and when: an engine says what it says without it, and nothing is left of it."""

from __future__ import annotations

import pytest

from kernelet.config import CacheConfig, SchedulerConfig
from kernelet.config.kv import KVTransferConfig
from kernelet.contracts.kv import SchedulerSide, WorkerSide
from kernelet.testing.kv_connector.fake import fake_offer
from kernelet.testing.kv_connector.null_engine import kv_core
from kernelet.testing.kv_connector.raising import METHODS, RaisingScheduler, RaisingWorker
from kernelet.testing.kv_connector.script import EndScript, LoadScript, World
from kernelet.testing.null.harness import null_engine_config, null_request
from kernelet.testing.null.model import FULL
from kernelet.testing.null.tokens import straight_line

VOCAB = 50
PROMPTS = [[(seed + index * index) % VOCAB for index in range(12 + seed)] for seed in range(3)]
SCRIPTS = [LoadScript(later=1, polls=1), LoadScript(sync=True), LoadScript(polls=3)]


def engine(world, **options):
    config = null_engine_config(
        vocab_size=VOCAB,
        max_model_len=40,
        layer_types=(FULL,),
        window=None,
        cache=CacheConfig(block_size=4, num_blocks=14),
        scheduler=SchedulerConfig(max_num_seqs=3, max_num_batched_tokens=9, **options),
    )
    offers = [fake_offer(world, "raises", RaisingScheduler, RaisingWorker), fake_offer(World(SCRIPTS), "other")]
    transfer = KVTransferConfig(connectors=("raises", "other"), load_timeout=1e9, handover_timeout=1e9)
    return kv_core(config, offers, transfer, pause=lambda _: None)[0]


def play(core, rounds=3):
    """Tokens by request: each prompt several times, all at once, and one that is aborted in the middle."""
    found = {}
    for number in range(rounds):
        for index, prompt in enumerate(PROMPTS):
            core.add_request(null_request(f"{number}-{index}", prompt, 9))
        core.add_request(null_request(f"{number}-gone", PROMPTS[number], 9))
        core.reset_prefix_cache()
        for step in range(400):
            if step == 2:
                core.abort([f"{number}-gone"])
            if not core.has_unfinished():
                break
            for output in core.step():
                assert output.error is None
                found.setdefault(output.request_id, []).extend(output.token_ids)
            core.cache.check()
        assert not core.has_unfinished()
    return found


def test_these_are_all_methods_that_a_running_engine_calls():
    """The others are called at the start, at the end, or for who asks."""
    others = {"validate_params", "reset_cache", "shutdown", "get_handshake_metadata"}
    for side, base in (("scheduler", SchedulerSide), ("worker", WorkerSide)):
        names = {name for name in dir(base) if not name.startswith("_") and callable(getattr(base, name))} - others
        assert {f"{side}.{name}" for name in names} == {one for one in METHODS if one.startswith(side)}


LONG = [pytest.param(*one, marks=pytest.mark.long) for one in ((0, 2), (3, 1), (20, 1), (20, 2))]


@pytest.mark.parametrize("calls, depth", [(0, 1), (3, 2), *LONG])
@pytest.mark.parametrize("method", METHODS)
def test_text_is_the_same_and_no_block_is_lost(method, calls, depth, caplog):
    world = World(SCRIPTS, [EndScript(holds=True, polls=2), EndScript()], raises={method: calls})
    core = engine(world, depth=depth)
    found = play(core)
    for name, tokens in found.items():
        number, index = name.split("-")
        request = null_request(name, PROMPTS[int(number if index == "gone" else index)], 9)
        expected = straight_line(request, VOCAB)
        assert tokens == (expected[: len(tokens)] if index == "gone" else expected)
    assert len(found) >= 9
    (pool,) = core.cache.pools
    assert pool.num_free == pool.num_blocks - 1
    core.disconnect()
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(told) == (world.did["raised"] > 0), told
    assert all("KV connector raises is switched off" in text and f"PlantedError: {method}" in text for text in told)
    if calls == 0 and method not in {"scheduler.cancel", "scheduler.abort", "scheduler.request_preempted"}:
        assert told
