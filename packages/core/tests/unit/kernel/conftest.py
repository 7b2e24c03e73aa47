"""A folder with distributions, and kernels made from plugin objects."""

from __future__ import annotations

import importlib
import sys

import pytest

from kernelet.config import PluginsConfig
from kernelet.kernel import Kernel


class Distributions:
    """Writes what an installer leaves of a distribution."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, name, *, version="1.0", metadata="", entry_points="", files=None, record=True):
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        texts = {
            **(files or {}),
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}",
            f"{info}/entry_points.txt": entry_points,
        }
        for path, text in texts.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text, encoding="utf-8")
        if record:
            lines = [f"{path},," for path in [*texts, f"{info}/RECORD"]]
            (self.folder / info / "RECORD").write_text("\n".join(lines) + "\n")
        importlib.invalidate_caches()


@pytest.fixture
def distributions(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield Distributions(tmp_path)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def boot(tmp_path):
    """A kernel of the core's own plugin and the given objects; nothing that is installed here."""

    def start(*plugins, **config):
        return Kernel.boot(PluginsConfig(**config), plugins=plugins, search_path=[str(tmp_path)])

    return start
