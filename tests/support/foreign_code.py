"""Single modules of packages that cannot be installed here: their source is fetched once, and nothing else of it runs.

``autoawq`` and ``gptqmodel`` want other versions of torch, and a GPU. What packs and unpacks is plain torch.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

CACHE = Path.home() / ".cache" / "kernelet" / "foreign"


def fetch(name: str, version: str) -> Path:
    """The unpacked source distribution of a package, from the index the first time."""
    folder = CACHE / f"{name}-{version}"
    if not folder.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name]
        subprocess.run([*command, "--dest", str(CACHE), f"{name}=={version}"], check=True, timeout=600)
        with tarfile.open(CACHE / f"{name}-{version}.tar.gz") as archive:
            archive.extractall(CACHE, filter="data")
    return folder


def load(folder: Path, modules: Sequence[str], absent: Sequence[str] = ()) -> list[ModuleType]:
    """Imports modules of a package; what they import of the rest of it, and of ``absent`` packages, is a mock.

    Nothing of it stays in ``sys.modules``.
    """
    tops = {modules[0].partition(".")[0], *absent}
    with _without(tops), _finding(_Finder(folder, frozenset(modules), frozenset(tops))):
        return [importlib.import_module(name) for name in modules]


class _Absent(ModuleType):
    __path__: list[str] = []  # noqa: RUF012 - what the import system looks at

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = MagicMock(name=f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made


class _Finder(MetaPathFinder, Loader):
    def __init__(self, folder: Path, wanted: frozenset[str], tops: frozenset[str]) -> None:
        self.folder, self.wanted, self.tops = folder, wanted, tops

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in self.tops:
            return None
        if name not in self.wanted:
            return importlib.util.spec_from_loader(name, self, is_package=True)
        base = self.folder.joinpath(*name.split("."))
        if base.is_dir():
            return importlib.util.spec_from_file_location(name, base / "__init__.py", submodule_search_locations=[])
        return importlib.util.spec_from_file_location(name, base.with_suffix(".py"))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """A mock has no code."""


@contextmanager
def _without(tops: set[str]) -> Iterator[None]:
    """As if the packages were not imported; afterwards as before."""

    def mine() -> list[str]:
        return [name for name in sys.modules if name.partition(".")[0] in tops]

    before = {name: sys.modules.pop(name) for name in mine()}
    try:
        yield
    finally:
        for name in mine():
            del sys.modules[name]
        sys.modules.update(before)


@contextmanager
def _finding(finder: MetaPathFinder) -> Iterator[None]:
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
