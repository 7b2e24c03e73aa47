from __future__ import annotations

from kernelet.testing.stat_logger.faults import FAULTS, suite_of
from kernelet.testing.stat_logger.suite import StatLoggerSuite


def test_each_is_the_suite_of_a_wrong_logger():
    assert all(issubclass(fault.suite, StatLoggerSuite) for fault in FAULTS)
    assert all(fault.suite.capabilities.read is not None for fault in FAULTS)
    assert suite_of(dict) is not suite_of(dict)
