from __future__ import annotations

import logging

import pytest

from kernelet.contracts.cache import CacheConfigPlan, CacheGroup, FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.offer import Settings
from kernelet.contracts.serving import Exposition
from kernelet.contracts.stats import CacheInfo, FinishedRequest, PluginInfo, StatLogger, StepStats
from kernelet.engine.stats import LoggingStatLogger, StatDispatcher, StatTotals, engine_info
from kernelet.testing.null.harness import null_engine_config

CONFIG = null_engine_config(max_model_len=64)
SPEC = {"block_size": 16, "page_bytes": 64, "num_kv_heads": 1, "head_size": 1, "dtype": "float16"}
PLAN = EnginePlan(
    architecture="Null",
    row="null",
    dtype="float16",
    platform="some",
    layers=(),
    cache=CacheConfigPlan(
        groups=(
            CacheGroup(spec=FullAttentionSpec(**SPEC), layers=("a",), num_blocks=7),
            CacheGroup(spec=SlidingWindowSpec(**SPEC | {"block_size": 8}, window=9), layers=("b",), num_blocks=5),
        )
    ),
    max_model_len=64,
)
ENGINE = engine_info(CONFIG, PLAN)


def step(number, **counts):
    return StepStats(step=number, num_running=1, num_waiting=0, **counts)


def finished(reason="stop"):
    return FinishedRequest(
        request_id="r",
        finish_reason=reason,
        num_prompt_tokens=1,
        num_output_tokens=1,
        num_cached_tokens=0,
        num_preemptions=0,
        queue_s=0.0,
        first_token_s=None,
        total_s=1.0,
    )


class Recorder(StatLogger):
    shows = None

    def __init__(self, fails_in=""):
        super().__init__(Settings(plugin="p"), ENGINE)
        self.calls = []
        self.fails_in = fails_in

    def _note(self, name):
        self.calls.append(name)
        if name == self.fails_in:
            raise RuntimeError("a bug in the logger")

    def record(self, stats):
        self._note("record")

    def record_finished(self, request):
        self._note("record_finished")

    def log(self):
        self._note("log")

    def exposition(self):
        self._note("exposition")
        return self.shows

    def close(self):
        self._note("close")


def test_totals_add_up():
    totals = StatTotals()
    totals.add([step(0, num_prefill_tokens=5, num_prefill_requests=1), step(1, num_decode_tokens=1)], [finished()])
    before = totals.snapshot()
    totals.add(
        [step(2, num_prefill_tokens=2, num_decode_tokens=1, num_prefill_requests=1, num_decode_requests=1)],
        [finished("length"), finished()],
    )
    after = totals.snapshot()
    assert (after.num_steps, after.num_mixed_steps, after.num_prefill_tokens, after.num_decode_tokens) == (3, 1, 7, 2)
    assert after.finished == {"stop": 2, "length": 1}
    assert after.last.step == 2
    assert (before.num_steps, before.finished) == (2, {"stop": 1})


def test_totals_of_kv_connectors():
    totals = StatTotals()
    counters = {"disk": {"bytes": 2.5}}
    totals.add([step(0, external_queries=9, external_hits=4, num_loads=1, kv_connectors=counters)], [])
    before = totals.snapshot()
    totals.add([step(1, load_failures={"timeout": 1}, kv_connectors={**counters, "nixl": {"parts": 1.0}})], [])
    totals.add([step(2, load_failures={"timeout": 1, "short": 2})], [])
    after = totals.snapshot()
    assert (before.kv_connectors, before.load_failures) == (counters, {})
    assert (after.external_queries, after.external_hits, after.num_loads) == (9, 4, 1)
    assert after.load_failures == {"timeout": 2, "short": 2}
    assert after.kv_connectors == {"disk": {"bytes": 5.0}, "nixl": {"parts": 1.0}}


def test_every_logger_hears_everything():
    now = [0.0]
    one, two = Recorder(), Recorder()
    dispatcher = StatDispatcher([("one", one), ("two", two)], clock=lambda: now[0])
    dispatcher.dispatch([step(0)], [finished()])
    now[0] = 11.0
    dispatcher.dispatch([step(1)], [])
    dispatcher.dispatch([step(2)], [])
    dispatcher.close()
    expected = ["record", "record_finished", "record", "log", "record", "log", "close"]
    assert one.calls == two.calls == expected


@pytest.mark.parametrize("where", ["record", "record_finished", "log", "close"])
def test_a_logger_that_raises_is_switched_off_with_one_error(where, caplog):
    bad, good = Recorder(where), Recorder()
    dispatcher = StatDispatcher([("bad", bad), ("good", good)])
    dispatcher.dispatch([step(0)], [finished()])
    dispatcher.dispatch([step(1)], [finished()])
    dispatcher.close()
    assert bad.calls.count(where) == 1
    assert good.calls == ["record", "record_finished"] * 2 + ["log", "close"]
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert "stat logger bad failed and is switched off" in errors[0].message


def test_what_loggers_show_and_one_that_raises_there_is_switched_off(caplog):
    shown = Exposition(content_type="text/plain", body=b"steps 1")
    silent, bad, good = Recorder(), Recorder("exposition"), Recorder()
    good.shows = shown
    dispatcher = StatDispatcher([("silent", silent), ("bad", bad), ("good", good)])
    for _ in range(2):
        assert dispatcher.expositions() == [shown]
        dispatcher.dispatch([step(0)], [])
    assert bad.calls == ["exposition"]
    assert good.calls == ["exposition", "record"] * 2
    (error,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "stat logger bad failed and is switched off" in error.message


def test_loggers_are_told_the_plugins():
    plugin = PluginInfo(name="p", distribution="d", version="1")
    assert ENGINE.plugins == ()
    told = engine_info(CONFIG, PLAN, [plugin], "name")
    assert (told.plugins, told.served_model_name) == ((plugin,), "name")


def test_the_log_has_rates_since_the_line_before(caplog):
    caplog.set_level(logging.INFO, "kernelet.engine.stats")
    now = [0.0]
    logger = LoggingStatLogger(Settings(plugin="core"), ENGINE, clock=lambda: now[0])
    logger.log()
    assert not caplog.records
    logger.record(
        step(0, num_prefill_tokens=100, num_decode_tokens=20, prefix_queries=100, prefix_hits=25, cache_usage=0.5)
    )
    now[0] = 10.0
    logger.log()
    assert "prompt 10.0 tokens/s, generation 2.0 tokens/s" in caplog.messages[0]
    assert "cache 50.0%" in caplog.messages[0]
    assert "prefix hits 25.0%" in caplog.messages[0]
    logger.log()
    assert len(caplog.records) == 1
    logger.record(step(1, num_decode_tokens=1))
    now[0] = 11.0
    logger.log()
    assert "prompt 0.0 tokens/s, generation 1.0 tokens/s" in caplog.messages[1]


def test_the_logging_logger_counts_finished_requests():
    logger = LoggingStatLogger(Settings(plugin="core"), ENGINE)
    logger.record_finished(finished())
    logger.close()


def test_loggers_are_told_the_engine():
    assert (ENGINE.model, ENGINE.index, ENGINE.num_ranks) == (CONFIG.model.model, 0, 1)
    assert (ENGINE.architecture, ENGINE.dtype, ENGINE.platform, ENGINE.max_model_len) == ("Null", "float16", "some", 64)
    assert ENGINE.max_num_seqs == CONFIG.scheduler.max_num_seqs
    assert ENGINE.max_num_batched_tokens == CONFIG.scheduler.max_num_batched_tokens
    assert ENGINE.enable_prefix_caching == CONFIG.cache.enable_prefix_caching
    assert ENGINE.caches == (
        CacheInfo(kind="full", block_size=16, num_blocks=7),
        CacheInfo(kind="sliding_window", block_size=8, num_blocks=5),
    )
