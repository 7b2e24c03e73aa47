"""Thirty installed plugins, each importing torch in its implementation: what a command imports of them."""

from __future__ import annotations

import json

import pytest
from environments import Environment
from template_plugins import build_wheels, generate_mixed, package_of
from workspace import ROOT

COUNT = 30
IMPORTED = """
import json, sys
from kernelet.cli.main import main

try:
    main(sys.argv[1:])
except SystemExit:
    pass
print()
print(json.dumps(sorted(name for name in sys.modules if name == "torch" or name.startswith("acme_"))))
"""


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    return generate_mixed(COUNT, tmp_path_factory.mktemp("many"))


@pytest.fixture(scope="module")
def crowd(projects, wheel_of, tmp_path_factory):
    """The core and the thirty."""
    house = tmp_path_factory.mktemp("crowd")
    return Environment(house / "env", wheel_of(ROOT / "packages/core"), *build_wheels(projects, house / "wheels"))


def imported(environment, *arguments):
    """What a command prints, and the modules of plugins that it imported, with torch if that is among them."""
    *printed, last = environment.run("-c", IMPORTED, *arguments).splitlines()
    return "\n".join(printed), set(json.loads(last))


def test_help_imports_nothing_of_them(crowd):
    printed, modules = imported(crowd, "--help")
    assert "COMMAND" in printed
    assert modules == set()


def test_a_list_imports_no_implementation(crowd, projects):
    """Nor torch with one: what is imported is each plugin.py, and what a platform's probe needs."""
    printed, modules = imported(crowd, "plugins", "list", "--json")
    rows = {row["name"]: (row["state"], row["reason"]) for row in json.loads(printed)}
    assert len(rows) == COUNT + 1
    assert {state for state, _ in rows.values()} == {"active", "blocked"}, rows
    assert all("opt-in" in reason for state, reason in rows.values() if state == "blocked")
    packages = {package_of(project).name for project in projects}
    assert {f"{package}.plugin" for package in packages} <= modules
    assert {name.partition(".")[2] for name in modules} == {"", "plugin", "config"}


def test_an_implementation_does_import_torch(crowd, projects):
    """The proof that the two tests above can fail."""
    project = next(project for project in projects if (package_of(project) / "policy.py").is_file())
    script = f"import sys, {package_of(project).name}.policy; print('torch' in sys.modules)"
    assert crowd.run("-c", script).split() == ["True"]
