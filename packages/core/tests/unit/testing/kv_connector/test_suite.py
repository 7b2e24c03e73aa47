"""The suite passes what is right: one that keeps, late as it may be, and one that hands over."""

from __future__ import annotations

import pytest
from kit import run_suites

from kernelet.testing.kv_connector.faults import handing, suite_of
from kernelet.testing.kv_connector.script import LoadScript
from kernelet.testing.kv_connector.suite import other_identity


def test_right_connectors_pass(tmp_path):
    suites = [suite_of(script=LoadScript(later=1, polls=1)), handing()]
    listener = run_suites(suites, tmp_path)
    assert not listener.messages
    assert min(listener.passed.values()) > 10


@pytest.mark.parametrize("name", ["weights", "arithmetic"])
def test_another_identity_differs_in_one_field(name):
    assert getattr(other_identity(**{name: "x"}), name) == "x"
    assert other_identity(**{name: "x"}) != other_identity()
