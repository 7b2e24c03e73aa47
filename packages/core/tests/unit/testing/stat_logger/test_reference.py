from __future__ import annotations

from kernelet.contracts.offer import Settings
from kernelet.contracts.stats import FinishedRequest, StepStats
from kernelet.testing.stat_logger.reference import (
    OF_KINDS,
    OF_REQUESTS,
    OF_STEPS,
    OF_TOKENS,
    CountingLogger,
    totals,
)
from kernelet.testing.stat_logger.reports import engine

STEPS = [
    StepStats(step=step, num_running=1, num_waiting=0, num_decode_tokens=step, seconds=0.5, inter_token_s=(0.25, 0.5))
    for step in (1, 2)
]
FINISHED = [
    FinishedRequest(
        request_id=reason,
        finish_reason=reason,
        num_prompt_tokens=3,
        num_output_tokens=count,
        num_cached_tokens=0,
        num_preemptions=0,
        queue_s=0.0,
        first_token_s=None,
        total_s=1.5,
    )
    for reason, count in (("stop", 4), ("abort", 1))
]


def test_sums_by_hand():
    found = totals(STEPS, FINISHED)
    assert {name: value for name, value in found.items() if value} == {
        "steps": 2,
        "finished": 2,
        "finished_stop": 1,
        "finished_abort": 1,
        "num_decode_tokens": 3,
        "seconds": 1.0,
        "inter_token_s": 1.5,
        "num_prompt_tokens": 6,
        "num_output_tokens": 5,
        "total_s": 3.0,
    }


def test_every_counter_of_the_contract_is_there():
    gauges = {"step", "num_running", "num_waiting", "cache_usage", "num_waiting_remote", "waiting_remote_s"}
    gauges |= {"kv_connectors", "kv_connectors_off"}  # whose names are theirs
    assert {*OF_STEPS, *OF_KINDS, *OF_TOKENS} == set(StepStats.__struct_fields__) - gauges
    assert set(OF_REQUESTS) == set(FinishedRequest.__struct_fields__) - {"request_id", "finish_reason", "first_token_s"}


def test_a_logger_that_counts():
    logger = CountingLogger(Settings(plugin="p"), engine())
    logger.record(STEPS[0])
    for request in FINISHED:
        logger.record_finished(request)
    logger.record(STEPS[1])
    assert logger.sums == totals(STEPS, FINISHED)
