from __future__ import annotations

from kit import run_suites

from kernelet.testing.endpoint.faults import FAULTS, suite_of
from kernelet.testing.endpoint.reference import ReferenceEndpoint


def test_each_is_a_suite_of_its_own():
    assert len({fault.suite for fault in FAULTS}) == len(FAULTS)


def test_without_a_fault_the_same_suite_is_content(tmp_path):
    listener = run_suites([suite_of(ReferenceEndpoint)], tmp_path, "-k", "offer or unknown or under_its_prefix")
    assert listener.messages == {}
    assert listener.passed == {0: 3}
