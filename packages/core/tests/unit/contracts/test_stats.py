from __future__ import annotations

import msgspec
import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.stats import CacheInfo, EngineInfo, FinishedRequest, StatLogger, StepStats

ENGINE = EngineInfo(
    model="m",
    architecture="A",
    dtype="float32",
    max_model_len=8,
    platform="p",
    max_num_seqs=2,
    max_num_batched_tokens=4,
    enable_prefix_caching=True,
    caches=(CacheInfo(kind="full", block_size=16, num_blocks=3),),
)


def test_what_a_logger_is_told_travels():
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(ENGINE), type=EngineInfo) == ENGINE


def test_snapshots_travel():
    stats = StepStats(step=1, num_running=2, num_waiting=3, cache_usage=0.5, seconds=0.25)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(stats), type=StepStats) == stats


def test_counters_start_at_nothing():
    stats = StepStats(step=1, num_running=0, num_waiting=0)
    counters = {name: getattr(stats, name) for name in StepStats.__struct_fields__ if name != "step"}
    lists = {counters.pop(name) for name in ("first_token_s", "inter_token_s", "kv_connectors_off")}
    assert counters.pop("load_failures") == counters.pop("kv_connectors") == {}
    assert set(counters.values()) == {0}
    assert lists == {()}


def test_records_travel_without_a_first_token():
    record = FinishedRequest(
        request_id="r",
        finish_reason="abort",
        num_prompt_tokens=1,
        num_output_tokens=0,
        num_cached_tokens=0,
        num_preemptions=0,
        queue_s=0.1,
        first_token_s=None,
        total_s=0.2,
    )
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=FinishedRequest) == record


def test_what_a_logger_must_have():
    class Least(StatLogger):
        def record(self, stats): ...
        def record_finished(self, request): ...

    logger = Least(Settings(plugin="p"), ENGINE)
    assert logger.settings.plugin == "p"
    assert logger.engine == ENGINE
    assert logger.log() is None
    assert logger.close() is None
    with pytest.raises(TypeError, match="abstract"):
        StatLogger(Settings(plugin="p"), ENGINE)
