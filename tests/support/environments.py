"""Wheels, and environments that hold only named wheels: the heavy site-packages are shared, nothing is downloaded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
from pathlib import Path

from packaging.utils import parse_wheel_filename

SITE = Path(sysconfig.get_path("purelib"))
OURS = "kernelet"
BUILD = """
import importlib, sys
module, _, name = sys.argv[1].partition(":")
backend = importlib.import_module(module)
print("\\n" + (getattr(backend, name) if name else backend).build_wheel(sys.argv[2]))
"""
"""Asks a backend as a frontend does, which pip does too, after reading the project's metadata three times."""
LEFT_BEHIND = ("build", "dist", "*.egg-info", "__pycache__", ".*_cache", "*.so")


def build_wheel(project: Path, folder: Path, **variables: str) -> Path:
    """Builds a project's wheel with whatever backend it names, in this environment.

    It is built from a copy: what a backend leaves behind would be in the next wheel, and on the path of other tests.
    A module in C++ takes minutes to compile, so a wheel gets the one that this environment was made with.

    Args:
        project: Its folder.
        folder: Where the wheel goes.
        variables: Of the environment; ``SKBUILD_CMAKE_DEFINE=""`` compiles.

    Raises:
        AssertionError: with the output, if it does not build.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(project, copy, ignore=shutil.ignore_patterns(*LEFT_BEHIND), dirs_exist_ok=True)
        command = ("-c", BUILD, backend(project), str(folder.resolve()))
        printed = run(Path(sys.executable), *command, cwd=Path(copy), **(prebuilt() | variables))
    return folder / printed.splitlines()[-1]


def backend(project: Path) -> str:
    """The build backend that a project names; that of a setup.py alone (PEP 517)."""
    file = project / "pyproject.toml"
    table = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return str(table.get("build-system", {}).get("build-backend", "setuptools.build_meta:__legacy__"))


def prebuilt() -> dict[str, str]:
    """The variable that hands this environment's compiled modules to scikit-build-core."""
    modules = sorted((SITE / "kernelet_platform_cpu").glob("_native*.so"))
    return {"SKBUILD_CMAKE_DEFINE": f"KERNELET_PREBUILT={modules[0]}"} if modules else {}


def run(python: Path, *arguments: str, cwd: Path | None = None, check: bool = True, **variables: str) -> str:
    """Runs a Python and returns what it prints; stderr too where it fails and ``check`` is off."""
    environment = {
        n: v for n, v in os.environ.items() if not n.startswith(("PYTHON", "VIRTUAL_ENV", "KERNELET", "PIP"))
    }
    command = [str(python), *arguments]
    done = subprocess.run(
        command, cwd=cwd, env=environment | variables, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0 or not check, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout if done.returncode == 0 else done.stdout + done.stderr


class Environment:
    """A virtual environment with the named wheels and, by links, everything third-party of this one."""

    def __init__(self, folder: Path, *wheels: Path) -> None:
        self.folder = folder
        venv.create(folder, with_pip=False, symlinks=True)
        self.python = folder / "bin/python"
        self.site = next((folder / "lib").glob("python*")) / "site-packages"
        for entry in SITE.iterdir():
            if OURS not in entry.name.lower() and entry.suffix != ".pth" and entry.name != "__pycache__":
                (self.site / entry.name).symlink_to(entry)
        self.install(*wheels)

    def install(self, *wheels: Path) -> None:
        """Installs wheels, in place of other versions of theirs."""
        for wheel in wheels:
            name = parse_wheel_filename(wheel.name)[0]
            if any(self.site.glob(f"{name.replace('-', '_')}-*.dist-info")):
                self.uninstall(name)
        if wheels:
            options = ("--no-deps", "--no-index", "--no-compile", "--no-warn-script-location")
            self._pip("install", *options, *map(str, wheels))

    def uninstall(self, name: str) -> None:
        """Takes a distribution away, if it is here."""
        self._pip("uninstall", "--yes", name)

    def run(self, *arguments: str, cwd: Path | None = None, check: bool = True, **variables: str) -> str:
        """Runs this environment's Python, in a folder without packages of ours."""
        return run(self.python, *arguments, cwd=cwd or self.folder, check=check, **variables)

    def kernelet(self, *arguments: str, check: bool = True, **variables: str) -> str:
        """Runs the command line."""
        return self.run("-m", "kernelet.cli", *arguments, check=check, **variables)

    def _pip(self, *arguments: str) -> None:
        run(Path(sys.executable), "-m", "pip", "--quiet", "--python", str(self.python), *arguments)
