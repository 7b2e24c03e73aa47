"""How suites search for a failing input."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

SEARCH = settings(
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],  # explaining costs more than it says
    report_multiple_bugs=False,  # one sentence is about one mistake
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
"""Decorates every ``given`` of the kit: no time limit, and the first mistake alone is reported."""
