"""A release in a repository of its own, with real builds; the matrix there is a script that says what a test wants."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import zipfile

import pytest
from api_surface import core_versions, surface

from kernelet.contracts.versions import ApiVersion

SMALL = "packages/model-smollm2"


def refused(checkout, capsys, *arguments):
    """The error of a release that is refused and leaves everything as it was."""
    before = checkout.state()
    assert checkout.release(*arguments) == 1
    assert checkout.state() == before
    lines = capsys.readouterr().err
    assert lines.startswith("error: ")
    return lines


def test_a_release_is_committed_tagged_and_goes_nowhere(checkout, tmp_path, capsys):
    assert checkout.release("model-smollm2", "0.1.0") == 0
    commit, tags, status = checkout.state()
    assert (tags, status) == ("model-smollm2-v0.1.0", "")
    assert checkout.git("rev-list", "-n1", "model-smollm2-v0.1.0") == commit
    assert checkout.git("log", "-1", "--format=%s") == "kernelet-model-smollm2 0.1.0"
    assert re.search(
        r"^## 0\.1\.0 - \d{4}-\d\d-\d\d$", (checkout.root / SMALL / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    files = sorted((checkout.root / "dist/model-smollm2-v0.1.0").iterdir())
    assert [file.name for file in files] == [
        "kernelet_model_smollm2-0.1.0-py3-none-any.whl",
        "kernelet_model_smollm2-0.1.0.tar.gz",
    ]
    with zipfile.ZipFile(files[0]) as archive:
        assert "kernelet_model_smollm2/source.py" in archive.namelist()
    with tarfile.open(files[1]) as archive:
        notes = archive.extractfile("kernelet_model_smollm2-0.1.0/CHANGELOG.md").read().decode()
    assert "unreleased" not in notes
    remote = ["git", "-C", tmp_path / "remote.git", "for-each-ref", "--format=%(refname)"]
    assert subprocess.run(remote, capture_output=True, text=True, check=True).stdout.split() == ["refs/heads/main"]
    assert (
        subprocess.run([*remote[:3], "rev-parse", "main"], capture_output=True, text=True, check=True).stdout.strip()
        != commit
    )
    assert "git push origin HEAD model-smollm2-v0.1.0" in capsys.readouterr().out

    assert "0.1.0 is not greater than the last release, 0.1.0" in refused(checkout, capsys, "model-smollm2", "0.1.0")
    assert "no section for 0.1.1: write what changed under `## Unreleased`" in refused(
        checkout, capsys, "model-smollm2", "0.1.1"
    )
    checkout.edit(f"{SMALL}/CHANGELOG.md", "## 0.1.0", "## Unreleased\n\n### Fixed\n\n- A thing.\n\n## 0.1.0")
    assert checkout.release("model-smollm2", "0.1.1") == 0
    assert checkout.git("tag").split() == ["model-smollm2-v0.1.0", "model-smollm2-v0.1.1"]
    assert 'version = "0.1.1"' in (checkout.root / SMALL / "pyproject.toml").read_text()
    assert 'version = "0.1.0"' in (checkout.root / "packages/core/pyproject.toml").read_text(), (
        "versions are independent"
    )


def test_a_dry_run_does_all_and_leaves_nothing(checkout, capsys):
    before = checkout.state()
    assert checkout.release("model-smollm2", "0.2.0", "--dry-run") == 1
    checkout.edit(f"{SMALL}/CHANGELOG.md", "0.1.0 - unreleased", "Unreleased")
    before = checkout.state()
    assert checkout.release("model-smollm2", "0.2.0", "--dry-run") == 0
    assert checkout.state() == before
    out = capsys.readouterr().out
    for step in ("tree, version", "version and changelog", "wheel and sdist", "matrix", "this was a dry run"):
        assert step in out
    assert "kernelet_model_smollm2-0.2.0-py3-none-any.whl" in out


def test_what_is_refused_at_once(checkout, capsys):
    assert "no package 'nothing'; there are core, model-smollm2" in refused(checkout, capsys, "nothing", "0.1.0")
    assert "'0.1' is not of the form X.Y.Z" in refused(checkout, capsys, "core", "0.1")
    assert "smaller than the version in pyproject.toml, 0.1.0" in refused(checkout, capsys, "model-smollm2", "0.0.9")
    (checkout.root / "new.txt").touch()
    assert "the tree has changes (new.txt)" in refused(checkout, capsys, "model-smollm2", "0.1.0")


def test_a_red_matrix(checkout, capsys):
    checkout.edit("tests/matrix/run.py", "sys.exit(0)", "sys.exit(1)")
    assert "the matrix is red" in refused(checkout, capsys, "model-smollm2", "0.1.0")


@pytest.mark.parametrize(
    "old, new, error",
    [
        (
            'packages = ["src/kernelet_model_smollm2"]',
            'packages = ["src/kernelet_model_smollm2"]\nexclude = ["source.py"]',
            "it lacks kernelet_model_smollm2/source.py",
        ),
        (
            'model-smollm2 = "kernelet_model',
            'smollm2 = "kernelet_model',
            "its entry points of kernelet.plugins are ['smollm2']",
        ),
        (
            'include = ["src", "tests", "README.md", "CHANGELOG.md", "LICENSE"]',
            'include = ["src", "README.md", "LICENSE"]',
            "lacks kernelet_model_smollm2-0.1.0/CHANGELOG.md",
        ),
        ('readme = "README.md"', 'readme = "NOTHING.md"', "packages/model-smollm2 does not build"),
    ],
)
def test_artifacts_that_are_wrong(checkout, capsys, old, new, error):
    checkout.edit(f"{SMALL}/pyproject.toml", old, new)
    assert error in refused(checkout, capsys, "model-smollm2", "0.1.0")


def test_git_that_refuses_the_commit(checkout, capsys):
    hook = checkout.root / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho not today\nexit 1\n")
    hook.chmod(0o755)
    assert "not today" in refused(checkout, capsys, "model-smollm2", "0.1.0")


VERSIONS = "packages/core/src/kernelet/contracts/versions.py"
NOW = ApiVersion.parse(core_versions()["sampling"])


@pytest.mark.long
def test_a_core_freezes_its_contracts_and_its_next_version_follows_them(checkout, capsys):
    assert checkout.release("core", "0.1.0") == 0
    frozen = json.loads((checkout.root / "tests/compat/released.json").read_text())
    assert frozen == surface(core_versions()), "the sources are a copy of these"
    assert checkout.git("show", "--format=", "--name-only", "core-v0.1.0^{commit}").split() == [
        "docs/matrix.md",
        "packages/core/CHANGELOG.md",
        "tests/compat/released.json",
    ]
    checkout.edit("packages/core/CHANGELOG.md", "## 0.1.0", "## Unreleased\n\n- More.\n\n## 0.1.0")
    now, then = f'"sampling": ApiVersion({NOW.major}, {NOW.minor})', f'"sampling": ApiVersion({NOW.major + 1}, 0)'
    checkout.edit(VERSIONS, now, then)
    assert "docs/reference/api.json is out of date" in refused(checkout, capsys, "core", "0.1.1")
    checkout.write_reference()
    error = refused(checkout, capsys, "core", "0.1.1")
    assert f"0.1.1 is too small a step from 0.1.0: contracts rose (sampling {NOW} -> {NOW.major + 1}.0)" in error
    assert "it needs 0.2.0" in error
    error = refused(checkout, capsys, "core", "0.3.0")
    assert "0.3.0 was to remove: cache contract v1, deprecated since cache 2.0" in error


def test_a_core_whose_contracts_changed_in_silence(checkout, capsys):
    """As if this core lacked a field that the last release had."""
    file = "tests/compat/released.json"
    before = (checkout.root / file).read_text()
    released = json.loads(before)
    released["versions"]["sampling"] = str(NOW)
    released["domains"]["sampling"]["classes"]["SamplingParams"]["fields"] |= {"gone": {"type": "int"}}
    checkout.edit(file, before, json.dumps(released))
    error = refused(checkout, capsys, "core", "0.1.0")
    assert f"sampling {NOW} needs a major bump, to {NOW.major + 1}.0" in error
    assert "class SamplingParams: field gone is gone" in error
