"""Environments with the core's wheel, into which tests install planted plugins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from environments import Environment
from planted import Planted, Site, write_wheel
from workspace import ROOT

from kernelet.testing.null import write_model

NULL = "kernelet.testing.null:plugin"

MANIFEST = """
import pathlib, sys
from kernelet.config import PluginsConfig
from kernelet.kernel import Kernel

found = Kernel.boot(PluginsConfig(locked=sys.argv[2])).manifest
pathlib.Path(sys.argv[1]).write_bytes(found.encode())
print(found.digest)
"""

CHILD = """
import pathlib, sys
from kernelet.config import PluginsConfig
from kernelet.errors import KerneletError
from kernelet.kernel import Kernel, Manifest

manifest = Manifest.decode(pathlib.Path(sys.argv[1]).read_bytes())
try:
    print(Kernel.from_manifest(manifest, PluginsConfig()).manifest.digest)
except KerneletError as error:
    print(type(error).__name__, error)
"""


@dataclass
class House:
    """An environment, and what is tried in it."""

    environment: Environment
    folder: Path
    model: Path

    @property
    def site(self) -> Path:
        return self.environment.site

    @property
    def lock(self) -> Path:
        return self.folder / "kernelet.lock"

    def install(self, *plugins: Planted, pip: bool = False) -> None:
        """Installs plugins in place of other versions of theirs: from wheels by pip, or as pip leaves them."""
        for plugin in plugins:
            self.uninstall(plugin.dist)
        if pip:
            self.environment.install(*(write_wheel(plugin, self.folder / "wheels") for plugin in plugins))
        else:
            Site(self.site).install(*plugins)
        self.forget()

    def uninstall(self, distribution: str = "*") -> None:
        """Takes planted plugins away."""
        for info in self.site.glob(f"{distribution.replace('-', '_')}-*.dist-info"):
            if "Generator: planted" in (info / "WHEEL").read_text(encoding="utf-8"):
                for line in (info / "RECORD").read_text(encoding="utf-8").splitlines():
                    (self.site / line.partition(",")[0]).unlink(missing_ok=True)
                info.rmdir()

    def forget(self) -> None:
        """Of all imports so far."""
        for mark in self.site.glob("*.imported"):
            mark.unlink()

    def imported(self, plugin: Planted) -> bool:
        """Whether any process imported the plugin since."""
        return (self.site / f"{plugin.module}.imported").exists()

    def write_lock(self, *flags: str) -> str:
        """Locks what is installed; the file's content."""
        self.environment.kernelet("plugins", "lock", "-o", str(self.lock), *flags)
        self.forget()
        return self.lock.read_text(encoding="utf-8")

    def start(self, *flags: str, **variables: str) -> str:
        """Starts an engine for one token; what it prints, its error if it does not start."""
        run = ("run", str(self.model), "--prompt", "x", "--max-tokens", "1", "--platform", "null", "--no-stream")
        plugins = () if "--plugins" in flags else ("--plugins", NULL)
        return self.environment.kernelet(*run, *plugins, *flags, check=False, **variables)

    def locked(self, **variables: str) -> str:
        """The same, held to the lock file."""
        return self.start(f"--locked={self.lock}", **variables)

    def manifest(self, file: Path, *, locked: bool = False) -> str:
        """Writes the manifest of what is installed, as a parent sends it to its children; its digest."""
        return self.environment.run("-c", MANIFEST, str(file), str(self.lock) if locked else "").strip()

    def child(self, manifest: Path) -> str:
        """What a child process of that parent says: its digest, or why it does not start."""
        return self.environment.run("-c", CHILD, str(manifest)).strip()


def build_house(folder, wheel):
    return House(Environment(folder / "env", wheel), folder, write_model(folder / "model"))


@pytest.fixture(scope="session")
def first_house(wheel_of, tmp_path_factory):
    return build_house(tmp_path_factory.mktemp("here"), wheel_of(ROOT / "packages/core"))


@pytest.fixture(scope="session")
def second_house(wheel_of, tmp_path_factory):
    return build_house(tmp_path_factory.mktemp("in-another-and-much-longer-folder"), wheel_of(ROOT / "packages/core"))


@pytest.fixture
def house(first_house):
    """An environment with the core alone."""
    first_house.uninstall()
    return first_house


@pytest.fixture
def elsewhere(second_house):
    """Another one, at another path."""
    second_house.uninstall()
    return second_house
