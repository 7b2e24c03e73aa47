from __future__ import annotations

from kernelet.testing.scheduler.faults import FAULTS, suite_of
from kernelet.testing.scheduler.suite import SchedulerCapabilities, SchedulerSuite


def test_each_is_the_suite_of_a_wrong_policy():
    assert all(issubclass(fault.suite, SchedulerSuite) for fault in FAULTS)
    promises = SchedulerCapabilities(patience=3)
    assert suite_of(dict, promises).capabilities is promises
    assert suite_of(dict).capabilities == SchedulerCapabilities()
