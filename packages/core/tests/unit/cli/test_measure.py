from __future__ import annotations

import time

import pytest

from kernelet.cli.measure import Figures, Load, Timed, mean_figures, positive, process_started, summarize
from kernelet.cli.usage import UsageError


def test_figures():
    load = Load(num_prompts=2, input_len=10, output_len=5, concurrent=True)
    timed = [Timed(sent=1.0, first=2.0, last=4.0, tokens=5), Timed(sent=1.5, first=3.5, last=5.0, tokens=1)]
    figures = summarize(timed, load)
    assert figures.elapsed_s == 4.0
    assert figures.ttft_s == 1.5
    assert figures.tpot_s == 0.5
    assert figures.output_tokens_per_s == 6 / 4
    assert figures.total_tokens_per_s == 26 / 4


def test_one_token_has_no_time_between_tokens():
    load = Load(num_prompts=1, input_len=1, output_len=1, concurrent=False)
    assert summarize([Timed(sent=0.0, first=1.0, last=1.0, tokens=1)], load).tpot_s is None


def test_the_start_of_this_process_lies_before_now():
    started = process_started()
    assert started is not None
    assert started < time.perf_counter()


def test_where_the_system_does_not_say_there_is_no_start(tmp_path):
    assert process_started(tmp_path / "missing") is None
    (tmp_path / "stat").write_text("1 (x) S 0")
    assert process_started(tmp_path / "stat") is None


def test_means():
    values = {"ttft_s": 1.0, "output_tokens_per_s": 1.0, "total_tokens_per_s": 1.0}
    one = Figures(elapsed_s=1.0, tpot_s=1.0, first_token_s=2.0, **values)
    two = Figures(elapsed_s=3.0, tpot_s=None, first_token_s=4.0, **values)
    mean = mean_figures([one, two])
    assert (mean.elapsed_s, mean.tpot_s, mean.first_token_s) == (2.0, None, 3.0)


@pytest.mark.parametrize("value", [0, -1])
def test_counts_are_positive(value):
    with pytest.raises(UsageError, match="--num-prompts"):
        positive("--num-prompts", value)
