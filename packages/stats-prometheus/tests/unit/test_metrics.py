from __future__ import annotations

import re

import pytest

from kernelet_stats_prometheus.metrics import FINISHED, LOAD_FAILURES, METRICS, length_bounds

ALL = (*METRICS, FINISHED, LOAD_FAILURES)


def test_names_are_unique_and_valid():
    names = [name for one in ALL for name in (one.name, *one.vllm)]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z_][a-z0-9_]*(:[a-z0-9_]+)?", name) for name in names)
    assert len({one.key for one in ALL}) == len(ALL)


@pytest.mark.parametrize("metric", ALL, ids=lambda one: one.key)
def test_every_metric_is_explained(metric):
    assert metric.name.startswith("kernelet_")
    assert all(name.startswith("vllm:") for name in metric.vllm)
    assert metric.help.endswith(".")
    assert (metric.kind == "histogram") or not metric.bounds
    assert list(metric.bounds) == sorted(set(metric.bounds))


@pytest.mark.parametrize(
    "longest, expected",
    [
        (1, [1]),
        (4, [1, 2]),
        (100, [1, 2, 5, 10, 20, 50, 100]),  # the example of vLLM's build_1_2_5_buckets
        (8192, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]),
    ],
)
def test_bounds_of_lengths(longest, expected):
    assert list(length_bounds(longest)) == expected
