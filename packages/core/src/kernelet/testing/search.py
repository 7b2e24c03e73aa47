"""How suites search for a failing input."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

SEARCH = settings(
    deadline=None,
    database=None,
    report_multiple_bugs=False,  # one sentence is about one mistake
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
"""Decorates every ``given`` of the kit: no time limit, and the first mistake alone is reported."""
