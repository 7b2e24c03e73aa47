"""One package of each kind, written by `kernelet plugins new`, built, and installed together in one environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from environments import Environment
from template_plugins import build_wheels, generate
from workspace import ROOT

from kernelet.cli.plugin_name import Names, names_of
from kernelet.cli.plugin_template import template_kinds

KINDS = template_kinds()


@dataclass(frozen=True)
class Made:
    """The packages of all kinds.

    Attributes:
        folder: Holds a folder a project.
        projects: By kind.
        wheels: By kind.
    """

    folder: Path
    projects: dict[str, Path]
    wheels: dict[str, Path]

    def names(self, kind: str) -> Names:
        """What a kind's package is called."""
        return names_of(kind, self.projects[kind].name, KINDS)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    house = tmp_path_factory.mktemp("templates")
    # a quantizer brings a format with its writer, and no two formats have one name
    demo = dict.fromkeys(KINDS, "demo") | {"quantizer": "writer"}
    projects = {kind: generate(kind, f"acme-{kind}-{demo[kind]}", house / "projects") for kind in KINDS}
    wheels = dict(zip(projects, build_wheels(projects.values(), house / "wheels"), strict=True))
    return Made(house / "projects", projects, wheels)


@pytest.fixture(scope="session")
def environment(made: Made, wheel_of: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The core and the ten packages, and nothing else of ours."""
    folder = tmp_path_factory.mktemp("templates-environment")
    return Environment(folder / "env", wheel_of(ROOT / "packages/core"), *made.wheels.values())
