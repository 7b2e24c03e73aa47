"""What the modules of a package import, from their text alone."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.utils import canonicalize_name

ALWAYS_THERE = frozenset({"kernelet", "torch"})
"""A plugin without a torch of its own takes the one that the platform brings."""


def undeclared(
    modules: Iterable[Path], packages: Collection[str], required: Collection[str], absent: Collection[str]
) -> list[str]:
    """Imports of what no requirement brings, as ``"name (module.py, line 3)"``.

    Args:
        modules: Python files.
        packages: The distribution's own top-level packages.
        required: Normalized names of the distributions that it requires.
        absent: Modules that no distribution of an index brings.
    """
    providers = packages_distributions()
    fine = ALWAYS_THERE | sys.stdlib_module_names | set(packages) | set(absent)
    found = []
    for module in modules:
        for name, line in imports(ast.parse(module.read_text(encoding="utf-8"))):
            top = name.partition(".")[0]
            brought_by = {str(canonicalize_name(one)) for one in providers.get(top, [top])}
            if top not in fine and not brought_by & set(required):
                found.append(f"{name} ({module.name}, line {line})")
    return found


def imports(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Name and line of each absolute import that runs, wherever it stands."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, child.lineno) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            if child.level == 0 and child.module:
                yield child.module, child.lineno
        elif isinstance(child, ast.If) and _for_annotations(child.test):
            for statement in child.orelse:
                yield from imports(ast.Module([statement], []))
        else:
            yield from imports(child)


def _for_annotations(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return name == "TYPE_CHECKING"
