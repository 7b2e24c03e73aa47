from __future__ import annotations

import importlib.metadata

import pytest

from kernelet.contracts.versions import ApiVersion
from kernelet.errors import PluginError
from kernelet.kernel import compat
from kernelet.kernel.discovery import Candidate

API = {"kv": ApiVersion(3, 2), "op": ApiVersion(1, 0)}


def candidate(*requirements, **api):
    return Candidate(
        name="x", entry_point="x", distribution="x-dist", version="7", requirements=requirements, api=tuple(api.items())
    )


@pytest.mark.parametrize(
    "requirement, fits",
    [
        ("kernelet-core>=1.0", True),
        ("kernelet-core>=1.6", False),
        ("Kernelet_Core<1.5", False),
        ("kernelet-core", True),
        ("kernelet-core>=9; extra == 'new'", True),
        ("kernelet-core>=9; python_version < '3'", True),
        ("kernelet-core>=9; python_version >= '3'", False),
        ("something-else>=99", True),
        ("kernelet-core>=1.5.dev1", True),
        ("!!", False),
    ],
)
def test_core_range(requirement, fits):
    assert (compat.incompatibility(candidate(requirement), "1.5", API) == "") == fits


def test_a_development_version_of_the_core_satisfies_its_range():
    assert not compat.incompatibility(candidate("kernelet-core>=1.5.dev0"), "1.6.dev3", API)


@pytest.mark.parametrize(
    "domain, value, fits",
    [
        ("kv", "kernelet.contracts.kv:v3", True),
        ("kv", "kernelet.contracts.kv:v2", True),  # N-1
        ("kv", "kernelet.contracts.kv:v1", False),
        ("kv", "kernelet.contracts.kv:v4", False),
        ("op", "kernelet.contracts.op:v1", True),
        ("op", "kernelet.contracts.op:v0", False),  # never below 1
        ("op", "kernelet.contracts.op:one", False),
        ("op", "kernelet.contracts.op", False),
        ("op", "latest", False),
        ("op", "acme.contracts.op:v1", False),
        ("op", "kernelet.contracts.kv:v1", False),
        ("theirs", "acme.contracts:latest", False),
        ("new", "kernelet.contracts.new:v1", False),
        ("theirs", "another_plugin.contracts:v9", True),
    ],
)
def test_contract_majors(domain, value, fits):
    assert (compat.incompatibility(candidate(**{domain: value}), "1.5", API) == "") == fits


def test_one_line_says_package_version_need_and_what_is_here():
    assert (
        compat.incompatibility(candidate("kernelet-core>=2,<4"), "1.5", API)
        == "x-dist 7 needs kernelet-core<4,>=2, here is 1.5"
    )
    assert (
        compat.incompatibility(candidate(kv="kernelet.contracts.kv:v1"), "1.5", API)
        == "x-dist 7 needs the contract kv v1, this core serves v2 and v3"
    )


@pytest.mark.parametrize(
    "major, minor, fits", [(3, 0, True), (3, 2, True), (3, 3, False), (2, 99, True), (1, 0, False), (4, 0, False)]
)
def test_offers_state_a_minor_too(major, minor, fits):
    assert (compat.version_mismatch("kv", major, minor, API["kv"]) == "") == fits


def test_core_version():
    assert compat.core_version() == importlib.metadata.version("kernelet-core")


def test_core_that_was_never_installed(monkeypatch):
    monkeypatch.setattr(compat, "CORE", "kernelet-core-that-is-not-here")
    with pytest.raises(PluginError, match="install it"):
        compat.core_version()
