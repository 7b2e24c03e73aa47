"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_stats_prometheus.conformance import TestPackage, TestPrometheus

__all__ = ["TestPackage", "TestPrometheus"]
