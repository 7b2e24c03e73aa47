"""Each folder of packages/ is a complete distribution."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from workspace import ROOT, distributions

PLUGINS = [d for d in distributions() if d.is_plugin]
LIBRARIES = [d for d in distributions() if not d.is_plugin and d.name != "core"]


@pytest.mark.parametrize("distribution", distributions(), ids=lambda d: d.name)
def test_distribution_is_complete(distribution):
    metadata, folder = distribution.metadata, distribution.folder
    assert metadata["name"] == f"kernelet-{distribution.name}"
    assert re.fullmatch(r"\d+\.\d+\.\d+", metadata["version"]), "each distribution has a static version of its own"
    assert metadata["requires-python"] == ">=3.11"
    assert (folder / "src" / distribution.package / "py.typed").is_file()
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert f"\n## {metadata['version']}" in (folder / "CHANGELOG.md").read_text(encoding="utf-8")
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert readme.startswith(f"# kernelet-{distribution.name}\n")
    assert len(readme) > 400, "a README says what the package is for and how it is used"


@pytest.mark.parametrize("distribution", PLUGINS, ids=lambda d: d.name)
def test_plugin_is_declared(distribution):
    points = distribution.metadata["entry-points"]
    assert points["kernelet.plugins"] == {distribution.name: f"{distribution.package}.plugin"}
    for domain, value in points["kernelet.api"].items():
        assert re.fullmatch(rf"kernelet\.contracts\.{domain}:v\d+", value), value
        assert (ROOT / f"packages/core/src/kernelet/contracts/{domain}.py").is_file()
    core = [r for r in map(Requirement, distribution.metadata["dependencies"]) if r.name == "kernelet-core"]
    assert len(core) == 1
    assert {clause.operator for clause in core[0].specifier} == {">="}, "a lower bound on the core and no upper one"


@pytest.mark.parametrize("distribution", LIBRARIES, ids=lambda d: d.name)
def test_a_library_declares_no_plugin(distribution):
    """What plugins share: it requires the core as they do, and is loaded by nobody but them."""
    groups = {"kernelet.plugins", "kernelet.api", "kernelet.conformance"}
    assert not groups & set(distribution.metadata.get("entry-points", ()))
    core = [r for r in map(Requirement, distribution.metadata["dependencies"]) if r.name == "kernelet-core"]
    assert [clause.operator for one in core for clause in one.specifier] == [">="]
    users = [
        d for d in PLUGINS if any(r.startswith(f"kernelet-{distribution.name}") for r in d.metadata["dependencies"])
    ]
    assert users, "a library that no plugin requires"


def test_api_entry_points_cover_the_hooks():
    """A plugin states the contract of every domain whose hooks it implements."""
    domains = {}
    for path in (ROOT / "packages/core/src/kernelet/hookspecs").glob("*.py"):
        for name in re.findall(r"^def (kernelet_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            domains[name] = path.stem
    for distribution in PLUGINS:
        plugin = distribution.folder / "src" / distribution.package / "plugin.py"
        implemented = re.findall(r"^def (kernelet_\w+)", plugin.read_text(encoding="utf-8"), re.MULTILINE)
        stated = set(distribution.metadata["entry-points"]["kernelet.api"])
        assert {domains.get(name, name) for name in implemented} <= stated, f"{distribution.name} states {stated}"


def test_budget_covers_every_distribution(pytestconfig):
    folders = pytestconfig.pluginmanager.get_plugin(str(ROOT / "conftest.py")).FOLDERS
    budget = tomllib.loads((ROOT / "tests/budget.toml").read_text(encoding="utf-8"))
    assert set(budget["seconds"]) == {"checks", "workspace", *folders} | {d.name for d in distributions()}
    assert sum(budget["seconds"].values()) <= budget["total"] <= 2 * 25 * 60
