"""Calls a function where a package cannot be imported, as where it is not installed; and remembers who tried."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from kernelet.kernel.imports import import_string
from kernelet.testing.interpreter import call_fresh

CALL = f"{__name__}:call"


class BlockedImportError(ImportError):
    """The package must not be imported here."""


class _Refuses(Loader):
    def __init__(self, attempts: list[str]) -> None:
        self._attempts = attempts

    def create_module(self, spec: ModuleSpec) -> None:
        lines = traceback.extract_stack()[:-1]
        own = [line for line in lines if "importlib" not in line.filename]
        where = f"{own[-1].filename}:{own[-1].lineno}" if own else "?"
        self._attempts.append(f"{spec.name} in {where}")
        raise BlockedImportError(f"{spec.name} must not be imported here")

    def exec_module(self, module: ModuleType) -> None:
        """Never reached."""


class _Finder(MetaPathFinder):
    """Finds blocked packages, so that one may ask whether they are installed, and refuses to load them."""

    def __init__(self, blocked: Sequence[str]) -> None:
        self._blocked = blocked
        self.attempts: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._blocked:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None:
            spec.loader = _Refuses(self.attempts)
        return spec


@contextmanager
def blocked(*packages: str) -> Iterator[list[str]]:
    """Makes packages fail to import; gives the list to which attempts are added, as "package in file:line".

    Raises:
        RuntimeError: one was imported before.
    """
    early = sorted(set(packages) & set(sys.modules))
    if early:
        raise RuntimeError(f"{', '.join(early)}: imported before it could be blocked")
    finder = _Finder(packages)
    sys.meta_path.insert(0, finder)
    try:
        yield finder.attempts
    finally:
        sys.meta_path.remove(finder)


def call_without(package: str, function: str, *arguments: Any) -> dict[str, Any]:
    """Calls a function in an interpreter of its own in which a package cannot be imported.

    Args:
        package: The package, e.g. ``"torch"``.
        function: Import string.
        arguments: Plain data.

    Returns:
        ``value``: what it returned, as plain data; ``error``: class and message of what it raised, or None;
        ``attempts``: where the package was asked for.
    """
    answer: dict[str, Any] = call_fresh(CALL, package, function, list(arguments))
    return answer


def call(package: str, function: str, arguments: Sequence[Any]) -> dict[str, Any]:
    """The other side of ``call_without``."""
    with blocked(package) as attempts:
        try:
            value = import_string(function)(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, the parent reports it
            return {"value": None, "error": [type(error).__name__, str(error)], "attempts": attempts}
    return {"value": value, "error": None, "attempts": attempts}
