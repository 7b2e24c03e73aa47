from __future__ import annotations

from kernelet.testing.quantizer.faults import FAULTS, suite_of
from kernelet.testing.quantizer.suite import QuantizerSuite


def test_each_is_the_suite_of_a_wrong_writer():
    assert all(issubclass(fault.suite, QuantizerSuite) for fault in FAULTS)
    assert suite_of(dict).__name__ == "Faulty"
