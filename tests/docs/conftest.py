"""The plugins of docs/plugins/, as packages on the path."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from doc_examples import write_files
from workspace import ROOT

from kernelet.config import PluginsConfig
from kernelet.kernel import Kernel


@dataclass(frozen=True)
class Example:
    """A plugin of a page, handed over as its module."""

    folder: Path

    @property
    def module(self) -> str:
        return f"{self.folder.name}.plugin"

    @property
    def name(self) -> str:
        """What a plugin that is handed over as a module is called."""
        return self.module

    @property
    def num_offers(self) -> int:
        text = (self.folder / "plugin.py").read_text(encoding="utf-8")
        return sum(text.count(f" {one}(\n") for one in set(offer_names()))

    @property
    def plugin(self):
        return importlib.import_module(self.module)

    def boot(self, **config) -> Kernel:
        return Kernel.boot(PluginsConfig(**config), plugins=[self.plugin], search_path=[])

    def load(self, module: str):
        return importlib.import_module(f"{self.folder.name}.{module}")


def offer_names():
    from kernelet.kernel.kinds import KINDS

    return [kind.offer.__name__ for kind in KINDS]


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Writes a page's package; the page is named without its folder and ending."""
    before = set(sys.modules)

    def write(page: str) -> Example:
        folder = tmp_path / page
        files = write_files(ROOT / f"docs/plugins/{page}.md", folder)
        (package,) = {path.parent for path in files}
        monkeypatch.syspath_prepend(str(folder))
        importlib.invalidate_caches()
        return Example(package)

    yield write
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
