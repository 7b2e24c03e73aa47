from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet_stats_prometheus.values import Histogram, Values

BOUNDS = (0.25, 1.0, 4.0)


@given(st.lists(st.sampled_from([0.0, 0.25, 0.26, 1.0, 3.9, 4.0, 4.1, 1e9])))
def test_buckets_hold_what_is_not_above_their_bound(values):
    histogram = Histogram(BOUNDS)
    for value in values:
        histogram.observe(value)
    assert histogram.cumulative() == [(bound, sum(value <= bound for value in values)) for bound in (*BOUNDS, inf)]
    assert histogram.sum == pytest.approx(sum(values))


def test_every_figure_starts_at_nothing():
    values = Values(max_model_len=100)
    assert set(values.numbers.values()) == {0.0}
    assert set(values.finished) == {"stop", "length", "abort", "error"}
    assert values.histograms["prompt_length"].bounds == (1, 2, 5, 10, 20, 50, 100)
    assert values.histograms["inter_token"].bounds[0] == 0.01
