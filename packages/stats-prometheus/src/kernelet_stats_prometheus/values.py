"""What is counted. Written and read by one thread at a time, as the engine calls a logger."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from math import inf

from kernelet_stats_prometheus.metrics import METRICS, length_bounds

REASONS = ("stop", "length", "abort", "error")

UNFIT = re.compile("[^a-zA-Z0-9_]")
"""What names of metrics have not."""


class Histogram:
    """Counts values by bucket.

    Args:
        bounds: Upper bounds, each part of its bucket; what is above them has one more.
    """

    def __init__(self, bounds: Iterable[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Adds a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def cumulative(self) -> list[tuple[float, int]]:
        """Each upper bound, the last infinite, and how many values are not above it."""
        total, found = 0, []
        for bound, count in zip((*self.bounds, inf), self.counts, strict=True):
            total += count
            found.append((bound, total))
        return found


class Values:
    """All figures of one engine, by the keys of the table.

    Args:
        max_model_len: Longest context.
    """

    def __init__(self, max_model_len: int) -> None:
        self.numbers = {one.key: 0.0 for one in METRICS if one.kind != "histogram"}
        self.histograms = {
            one.key: Histogram(one.bounds or length_bounds(max_model_len)) for one in METRICS if one.kind == "histogram"
        }
        self.finished = dict.fromkeys(REASONS, 0)
        self.load_failures: dict[str, int] = {}
        self.connectors: dict[str, dict[str, float]] = {}

    def count(self, connector: str, counters: Mapping[str, float]) -> None:
        """Adds to what a connector counts; by counter, then by connector."""
        for name, value in counters.items():
            mine = self.connectors.setdefault(UNFIT.sub("_", name), {})
            mine[connector] = mine.get(connector, 0.0) + value
