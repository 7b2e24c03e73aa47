from __future__ import annotations

from hypothesis import given

from kernelet.contracts.offer import Settings
from kernelet.contracts.stats import FinishedRequest, StepStats
from kernelet.testing.stat_logger.reference import CountingLogger, totals
from kernelet.testing.stat_logger.reports import FINISHED, STEPS, engine, mixed, null_run, report


def test_a_run_has_everything_in_it():
    got = null_run(seed=1)
    assert all(got.total(name) > 0 for name in ("num_preempted", "prefix_hits", "num_chunked", "num_decode_tokens"))
    assert {"length", "abort"} <= {request.finish_reason for request in got.finished}
    assert any(request.first_token_s is None for request in got.finished)


def test_reports_are_mixed_but_steps_keep_their_order():
    got = null_run(seed=1)
    reports = mixed(got, seed=2)
    assert [one for one in reports if isinstance(one, StepStats)] == got.steps
    assert {one.request_id for one in reports if isinstance(one, FinishedRequest)} == {f"r{i}" for i in range(60)}
    logger = CountingLogger(Settings(plugin="p"), engine())
    report(logger, reports)
    assert logger.sums["steps"] == len(got.steps)
    assert logger.sums["total_s"] > 0
    assert {name: logger.sums[name] for name in ("finished", "num_output_tokens")} == {
        name: totals(got.steps, got.finished)[name] for name in ("finished", "num_output_tokens")
    }


@given(STEPS, FINISHED)
def test_anything_within_the_contract(step, request):
    assert 0 <= step.cache_usage <= 1
    assert request.first_token_s is None or request.first_token_s >= 0


def test_engines_differ_by_their_index():
    assert engine(0) != engine(1)
    assert engine(1).index == 1
