from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.cli.serve_load.client import Answer
from kernelet.cli.serve_load.drive import Run
from kernelet.cli.serve_load.report import details, is_good, parse_goodput, peak, rows, spread, spreads, summary
from kernelet.cli.usage import UsageError

FAST = Answer(sent=10.0, times=[10.1, 10.2, 10.4], ended=10.5, text="abc", prompt_tokens=7, output_tokens=4)
SLOW = Answer(sent=10.2, times=[11.2, 12.2], ended=12.5, text="ab", prompt_tokens=5, output_tokens=2)
SHORT = Answer(sent=12.0, times=[12.1], ended=12.2, prompt_tokens=1, output_tokens=1)
LOST = Answer(sent=12.0, ended=14.0, error=("HTTP 429", "too much"))
RUN = Run(answers=[FAST, SLOW, SHORT, LOST], started=10.0, late_s=0.25, client_cpu_s=1.0)


def test_counts_and_rates():
    found = summary(RUN)
    assert (found["completed"], found["failed"]) == (3, 1)
    assert found["duration"] == 4.0
    assert (found["total_input_tokens"], found["total_output_tokens"]) == (13, 7)
    assert found["request_throughput"] == 3 / 4
    assert found["output_throughput"] == 7 / 4
    assert found["total_token_throughput"] == 20 / 4
    assert found["client_cpu_share"] == 0.25
    assert found["max_late_s"] == 0.25
    assert found["errors"] == {"HTTP 429": 1}
    assert found["first_error"] == "HTTP 429: too much"


def test_latencies():
    found = summary(RUN, percentiles=[50])
    assert found["mean_ttft_ms"] == pytest.approx((100 + 1000 + 100) / 3)
    assert found["p50_ttft_ms"] == pytest.approx(100)
    assert found["mean_tpot_ms"] == pytest.approx((300 / 3 + 1000) / 2)
    assert found["mean_itl_ms"] == pytest.approx((100 + 200 + 1000) / 3)
    assert found["p50_e2el_ms"] == pytest.approx(500)


@pytest.mark.parametrize("goals, good", [(["ttft:200"], 2), (["ttft:200", "tpot:50"], 1), (["e2el:3000"], 3)])
def test_goodput(goals, good):
    assert summary(RUN, parse_goodput(goals))["request_goodput"] == good / 4


def test_one_token_keeps_the_goal_of_the_others():
    assert is_good(SHORT, {"tpot": 1.0})


@pytest.mark.parametrize("text", ["ttft", "ttft:x", "ttft:-1", "ttft:nan", "other:3"])
def test_wrong_goals(text):
    with pytest.raises(UsageError, match="expected NAME:MILLISECONDS"):
        parse_goodput([text])


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=60))
def test_percentiles_are_those_of_the_standard_library(values):
    found = spread("x", values, [25, 50, 75])
    quartiles = statistics.quantiles(values, n=4, method="inclusive")
    assert [found[f"p{percent}_x_ms"] for percent in (25, 50, 75)] == pytest.approx(quartiles)
    assert found["mean_x_ms"] == pytest.approx(statistics.fmean(values))
    assert found["std_x_ms"] == pytest.approx(statistics.pstdev(values), abs=1e-3)


def test_nothing_was_answered():
    found = summary(Run(answers=[LOST], started=10.0, late_s=0.0, client_cpu_s=0.0))
    assert found["completed"] == found["output_throughput"] == 0
    assert found["p99_ttft_ms"] is None
    assert spreads(found, [99])[0] == ("ttft", "-", "-")


def test_the_most_at_one_time():
    assert peak([FAST, SLOW, SHORT, LOST]) == 3
    after = Answer(sent=10.5, ended=11.0)
    assert peak([FAST, after]) == 1


def test_tables():
    found = summary(RUN, {"ttft": 1.0})
    names = [name for name, _ in rows(found)]
    assert {"completed", "output_throughput", "request_goodput", "client_cpu_share"} <= set(names)
    assert not {"errors", "first_error"} & set(names)
    assert [line[0] for line in spreads(found, [50, 99])] == ["ttft", "tpot", "itl", "e2el"]


def test_every_request():
    found = details(RUN)
    assert found["start_times"] == pytest.approx([0.0, 0.2, 2.0, 2.0])
    assert found["output_lens"] == [4, 2, 1, 0]
    assert found["ttfts"][3] is None
    assert found["request_errors"] == [None, None, None, "HTTP 429: too much"]
