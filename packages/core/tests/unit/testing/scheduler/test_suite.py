from __future__ import annotations

import time

from kit import run_suites

from kernelet.scheduler.policies import PriorityPolicy
from kernelet.testing.scheduler.faults import Newest, suite_of
from kernelet.testing.scheduler.suite import SchedulerCapabilities, later, some_rows


def test_a_promise_that_is_not_made_is_not_tested(tmp_path):
    """An order that starves and ignores priorities is an order; nothing of the contract forbids it."""
    suites = [suite_of(Newest), suite_of(PriorityPolicy, SchedulerCapabilities(respects_priority=True))]
    listener = run_suites(suites, tmp_path, "-k", "not under_pressure and not everywhere")
    assert not listener.messages
    assert listener.passed[1] == listener.passed[0] + 1 > 1, "the one promise is one test"


def test_rows_differ_and_come_in_order():
    rows = some_rows(seed=5, count=40)
    assert [row[1] for row in rows] == sorted({row[1] for row in rows})
    assert len({row[0] for row in rows}) > 3
    assert rows != some_rows(seed=6, count=40)
    assert rows[:10] == some_rows(seed=5, count=10)


def test_a_clock_that_is_ahead():
    assert later(time.monotonic, 1000)() - time.monotonic() > 999
