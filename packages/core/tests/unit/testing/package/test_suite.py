from __future__ import annotations

import pytest
from kit import run_suites

from kernelet.testing.package.faults import GOOD, suite_of
from kernelet.testing.package.suite import PLUGIN_NAME, RELATION, domain_of, stated


def test_a_good_package_passes(tmp_path):
    listener = run_suites([suite_of(GOOD)], tmp_path)
    assert not listener.messages
    assert listener.passed == {0: 16}


@pytest.mark.parametrize(
    "name, ok",
    [("platform-acme", True), ("weight-format-x2", True), ("platform", False), ("Platform-x", False), ("a--b", False)],
)
def test_names(name, ok):
    assert bool(PLUGIN_NAME.fullmatch(name)) == ok


@pytest.mark.parametrize(
    "text, ok", [("op:rms", True), ("op", False), ("op:", False), ("op:a,b", False), (":a", False)]
)
def test_relations(text, ok):
    assert bool(RELATION.fullmatch(text)) == ok


def test_domains_and_majors():
    assert domain_of("kernelet_weight_kernels") == "op"
    assert domain_of("kernelet_bells") == ""
    assert (stated("kernelet.contracts.op:v2"), stated("")) == (2, 0)
