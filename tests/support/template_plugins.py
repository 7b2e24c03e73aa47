"""Packages written by `kernelet plugins new`, and their wheels."""

from __future__ import annotations

import contextlib
import io
import logging
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from hatchling.build import build_wheel

from kernelet.cli.main import main
from kernelet.cli.plugin_template import template_kinds

FUTURE = "from __future__ import annotations\n"
QUICK = """\
from hypothesis import settings

settings.register_profile("quick", max_examples=15)
settings.load_profile("quick")
"""
"""conftest.py above projects: searches are short; that suites find what they are for is tested elsewhere."""


def generate(kind: str, name: str, folder: Path, *options: str) -> Path:
    """Runs the command and returns the folder that it wrote.

    Raises:
        AssertionError: it failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    errors = io.StringIO()
    log = logging.getLogger("kernelet")
    before = log.handlers[:], log.propagate, log.level
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        code = main(["plugins", "new", kind, name, "--directory", str(folder), *options])
    log.handlers[:], log.propagate, log.level = before
    assert code == 0, errors.getvalue()
    return folder / name


def generate_mixed(count: int, folder: Path) -> list[Path]:
    """So many packages, of every kind in turn, each importing torch in its implementation modules."""
    kinds = list(template_kinds())
    projects = [generate(kinds[index % len(kinds)], f"acme-{index}-thing", folder) for index in range(count)]
    for project in projects:
        add_torch(project)
    return projects


def package_of(project: Path) -> Path:
    """The folder of a project's package."""
    (package,) = (project / "src").iterdir()
    return package


def add_torch(project: Path) -> None:
    """Makes every module that an offer names import torch."""
    package = package_of(project)
    plugin = (package / "plugin.py").read_text(encoding="utf-8")
    modules = set(re.findall(rf'target="{package.name}\.(\w+):', plugin))
    assert modules, f"{project} offers nothing of its own"
    for module in modules:
        path = package / f"{module}.py"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(FUTURE, f"{FUTURE}\nimport torch  # noqa: F401\n", 1), encoding="utf-8")


def build_wheels(projects: Iterable[Path], folder: Path) -> Sequence[Path]:
    """Builds wheels in this process with the backend that the projects name; a process each takes ten times as long."""
    folder.mkdir(parents=True, exist_ok=True)
    wheels = []
    for project in projects:
        with contextlib.chdir(project), contextlib.redirect_stdout(io.StringIO()):
            wheels.append(folder / build_wheel(str(folder)))
    return wheels
