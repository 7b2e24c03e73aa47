"""A checkout of its own to release from: a git repository with a copy of what a release reads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import release
from workspace import ROOT

COPIED = ("packages/core", "packages/model-smollm2", "tests/support", "docs/reference")
FILES = ("docs/deprecations.md", "tests/compat/released.json", ".gitignore")
MATRIX = """
import pathlib
import sys

print("a row")
page = pathlib.Path("docs/matrix.md")
page.write_text("seen with " + pathlib.Path("packages/core/pyproject.toml").read_text().split('version = "')[1][:5])
sys.exit({code})
"""


@dataclass(frozen=True)
class Checkout:
    """A repository with one commit and a remote."""

    root: Path

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def release(self, *arguments: str) -> int:
        return release.main([*arguments], self.root)

    def edit(self, path: str, old: str, new: str) -> None:
        """Changes a file and commits it."""
        file = self.root / path
        text = file.read_text(encoding="utf-8")
        assert text.count(old) >= 1
        file.write_text(text.replace(old, new, 1), encoding="utf-8")
        self.git("commit", "--quiet", "--all", "--message", path)

    def write_reference(self) -> None:
        """``hatch run api``, committed."""
        source = str(self.root / "packages/core/src")
        command = [sys.executable, "tests/support/reference.py", "--write"]
        subprocess.run(command, cwd=self.root, env=os.environ | {"PYTHONPATH": source}, check=True)
        self.git("add", "docs")
        if self.git("status", "--porcelain"):
            self.git("commit", "--quiet", "--message", "Reference")

    def state(self) -> tuple[str, str, str]:
        """Last commit, tags, and what differs from it."""
        return self.git("rev-parse", "HEAD"), self.git("tag"), self.git("status", "--porcelain")


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("release") / "checkout"
    root.mkdir()
    for folder in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "unit", "support" if "packages" in folder else "-", "dist")
        shutil.copytree(ROOT / folder, root / folder, ignore=ignored)
    (root / "tests/matrix").mkdir()
    (root / "tests/matrix/run.py").write_text(MATRIX.format(code=0))
    (root / "tests/compat").mkdir()
    for file in FILES:
        shutil.copy(ROOT / file, root / file)
    (root / "docs/matrix.md").write_text("seen with nothing")
    checkout = Checkout(root)
    checkout.git("init", "--quiet", "--initial-branch", "main")
    checkout.git("config", "user.name", "A Maintainer")
    checkout.git("config", "user.email", "maintainer@example.org")
    checkout.git("add", ".")
    checkout.git("commit", "--quiet", "--message", "All")
    checkout.write_reference()
    return root


@pytest.fixture
def checkout(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    shutil.copytree(template, tmp_path / "checkout")
    checkout = Checkout(tmp_path / "checkout")
    subprocess.run(["git", "clone", "--quiet", "--bare", checkout.root, tmp_path / "remote.git"], check=True)
    checkout.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    return checkout
