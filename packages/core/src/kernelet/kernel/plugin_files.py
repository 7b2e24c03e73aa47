"""Plugins that are one Python file, named by its path: what operators write who package nothing."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Iterable
from importlib.abc import SourceLoader
from pathlib import Path
from types import ModuleType

from kernelet.errors import PluginError
from kernelet.kernel.discovery import FILE, Candidate

FLAGS = "--tool-parser-plugin, --reasoning-parser-plugin"


def file_candidates(files: Iterable[str]) -> list[Candidate]:
    """Plugins by the path of their file, each once; the name of one is the file's, without the suffix."""
    return [_candidate(path) for path in dict.fromkeys(Path(file).resolve() for file in files)]


def _candidate(path: Path) -> Candidate:
    wrong = "it is a folder" if path.is_dir() else "" if path.is_file() else "there is no such file"
    problem = f"{wrong}: {FLAGS} take a Python file that implements hooks" if wrong else ""
    return Candidate(name=path.stem, entry_point=FILE + path.name, path=str(path.parent), problem=problem)


def import_file(file: str) -> ModuleType:
    """The module that a file holds.

    It stays among the imported ones, under a name that has a hash of its content: offers name their targets as
    ``f"{__name__}:table"``, and a file that was changed is another module.

    Raises:
        PluginError: what the file raises, with the line.
    """
    source = Path(file).read_bytes()
    name = module_name(file, source)
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_loader(name, _Loader(file, source), origin=file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also of sys.exit
        del sys.modules[name]
        raise PluginError(f"{file}{_line(file, error)}: {type(error).__name__}: {error}") from error
    return module


def module_name(file: str, source: bytes) -> str:
    """What the module of a file is called while it has this content."""
    stem = re.sub(r"\W", "_", Path(file).stem, flags=re.ASCII)
    return f"kernelet_file_{stem}_{hashlib.sha256(source).hexdigest()[:12]}"


class _Loader(SourceLoader):
    """Compiles what was read, and keeps no compiled file, which could be one of other content."""

    def __init__(self, file: str, source: bytes) -> None:
        self._file = file
        self._source = source

    def get_filename(self, fullname: str) -> str:
        return self._file

    def get_data(self, path: str) -> bytes:
        return self._source


def _line(file: str, error: BaseException) -> str:
    """Where in the file it happened."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if isinstance(error, SyntaxError) and error.filename == file:
        lines.append(error.lineno)
    return f", line {lines[-1]}" if lines else ""
