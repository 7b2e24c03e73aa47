"""docs/reference/ is what the sources say, and versions rise with what changed since the last release."""

from __future__ import annotations

import json
from importlib.metadata import version

import pytest
import reference
from api_surface import core_versions, surface
from packaging.version import Version
from reference_pages import hook_nodes, hookspec_module
from workspace import ROOT

from kernelet.contracts.versions import API_VERSIONS, ApiVersion
from kernelet.kernel.deprecations import DEPRECATIONS, Kind

SURFACE = surface(core_versions())


@pytest.mark.parametrize("path", reference.generated(), ids=lambda path: str(path.relative_to(ROOT)))
def test_generated_files_are_up_to_date(path):
    assert path.is_file(), "run hatch run api"
    assert path.read_text(encoding="utf-8") == reference.generated()[path], "run hatch run api"


def test_a_changed_surface_has_a_version_bump():
    missing = reference.missing_bumps()
    assert not missing, "\n" + "\n".join(missing)


def test_the_surface_holds_what_it_should():
    """Counted by importing, which the generator does not do."""
    import importlib
    import inspect

    for domain in API_VERSIONS:
        module = importlib.import_module(f"kernelet.contracts.{domain}")
        classes = {
            name for name, one in inspect.getmembers(module, inspect.isclass) if one.__module__ == module.__name__
        }
        found = SURFACE["domains"][domain]
        assert classes <= set(found["classes"])
        for name in classes:
            one = getattr(module, name)
            abstract = {n for n in getattr(one, "__abstractmethods__", ()) if n in vars(one)}
            members = found["classes"][name].get("members", {})
            assert {n for n, member in members.items() if member.get("abstract")} == abstract
            annotated = {n for n in vars(one).get("__annotations__", {}) if not n.startswith("_")}
            assert annotated <= set(found["classes"][name].get("fields", {}))


def test_a_hook_is_not_newer_than_its_contract():
    for domain, now in API_VERSIONS.items():
        for node in hook_nodes(hookspec_module(domain)):
            stated = node.body[0].value.value.rpartition("Since: ")[2].strip().rstrip(".")
            name, _, since = stated.partition(" ")
            assert name == domain
            assert ApiVersion.parse(since) <= now, f"{node.name} is of {stated}, {domain} is {now}"


@pytest.mark.parametrize("argument", ["--write", "--freeze"])
def test_nothing_is_written_while_a_bump_is_missing(argument, tmp_path, monkeypatch, capsys):
    released = json.loads(json.dumps(SURFACE))
    del released["domains"]["stats"]["classes"]["StatLogger"]
    file = tmp_path / "released.json"
    file.write_text(json.dumps(released))
    monkeypatch.setattr(reference, "RELEASED", file)
    monkeypatch.setattr(reference, "generated", lambda: {ROOT / "never-written.md": ""})
    monkeypatch.setattr("sys.argv", ["reference.py", argument])
    assert reference.main() == 1
    now = API_VERSIONS["stats"]
    bump = f"stats {now} needs a minor bump, to {ApiVersion(now.major, now.minor + 1)} (contracts/versions.py)"
    assert f"{bump}: class StatLogger is new" in capsys.readouterr().err
    assert json.loads(file.read_text()) == released
    assert not (ROOT / "never-written.md").exists()


def test_deprecations_name_what_exists_and_a_release_to_come():
    here = Version(version("kernelet-core"))
    for entry in DEPRECATIONS:
        found = SURFACE["domains"][entry.domain]
        name, _, part = entry.what.partition(".")
        if entry.kind in {Kind.HOOK, Kind.PARAMETER}:
            assert part in found["hooks"][name]
        elif entry.kind is not Kind.CONTRACT:
            one = found["classes"][name]
            assert not part or part in one.get("fields", {}) or part in one["members"]
        assert ApiVersion.parse(entry.since) <= API_VERSIONS[entry.domain]
        assert Version(entry.removed) > here, f"{entry}: it is time to remove it"
