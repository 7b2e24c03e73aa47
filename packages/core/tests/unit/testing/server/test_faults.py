from __future__ import annotations

from kit import run_suites

from kernelet.testing.server.faults import FAULTS, generation, suite_of
from kernelet.testing.server.reference import ReferenceServer


def test_each_is_a_suite_of_its_own():
    assert len({fault.suite for fault in FAULTS}) == len(FAULTS)


def test_without_a_fault_the_same_suite_is_content(tmp_path):
    listener = run_suites([suite_of(ReferenceServer)], tmp_path, "-k", "offer or stop_before_run")
    assert listener.messages == {}
    assert listener.passed == {0: 2}


def test_a_request_for_so_many_tokens():
    assert b'"max_tokens": 7' in generation(7).body
