from __future__ import annotations

from kernelet.testing.io_processor.faults import FAULTS, PROMISES
from kernelet.testing.io_processor.suite import IOProcessorSuite


def test_each_is_the_suite_of_a_wrong_processor():
    assert all(issubclass(fault.suite, IOProcessorSuite) for fault in FAULTS)
    assert all(fault.suite.capabilities is PROMISES for fault in FAULTS)
