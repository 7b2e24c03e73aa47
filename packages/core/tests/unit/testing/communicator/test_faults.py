from __future__ import annotations

from kit import run_suites

from kernelet.testing.communicator.faults import FAULTS, suite_of
from kernelet.testing.communicator.reference import MeshCommunicator
from kernelet.testing.communicator.suite import CommunicatorSuite


def test_each_is_the_suite_of_a_wrong_communicator():
    assert all(issubclass(fault.suite, CommunicatorSuite) for fault in FAULTS)


def test_without_a_fault_the_suite_passes(tmp_path):
    listener = run_suites([suite_of(MeshCommunicator)], tmp_path)
    assert listener.messages == {}
    assert listener.passed[0] == 12
