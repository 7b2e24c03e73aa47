from __future__ import annotations

from kernelet.testing.weight_format.faults import FAULTS, suite_of
from kernelet.testing.weight_format.reference import PlainReader
from kernelet.testing.weight_format.suite import WeightFormatSuite


def test_each_is_the_suite_of_a_wrong_reader():
    assert all(issubclass(fault.suite, WeightFormatSuite) for fault in FAULTS)


def test_without_a_fault_the_suite_passes(tmp_path):
    from kit import run_suites

    listener = run_suites([suite_of(PlainReader)], tmp_path)
    assert listener.messages == {}
    assert listener.passed[0] >= 12
