"""What a package of a third party may use of the core, held against its syntax trees; nothing of it is imported."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from api_surface import ALSO

CORE = "kernelet"
PUBLIC = frozenset({"LLM", "AsyncLLM", "SamplingParams", "hookimpl", "__version__"})
"""What is imported from ``kernelet`` itself."""

CONFIG = "kernelet.config"
"""Its dataclasses; of its modules, those that hold them."""

COVERED = ("kernelet.contracts", "kernelet.hookspecs", CONFIG, *ALSO)
TEST_KIT = "kernelet.testing"
"""Of conformance modules and tests only."""

TARGET = re.compile(r"(kernelet(?:\.\w+)+):\w+")
PATCHERS = frozenset({"setattr", "delattr", "__setattr__", "__delattr__", "setitem", "delitem", "patch"})


@dataclass
class Package:
    """A folder with a package: its files, and the private names that its own classes and modules define."""

    folder: Path
    trees: dict[Path, ast.Module] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Package:
        paths = [path for path in sorted(folder.rglob("*.py")) if "build" not in path.relative_to(folder).parts]
        return cls(folder, {path: ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in paths})

    def own_privates(self) -> set[str]:
        return {name for tree in self.trees.values() for name in defined(tree) if private(name)}

    def own_fields(self) -> set[str]:
        """Attributes that its own objects have: set on ``self``, or declared in a class."""
        return {name for tree in self.trees.values() for name in fields(tree)}


def complaints(package: Package) -> list[str]:
    """All that a package does with the core and should not: ``path:line: what``."""
    own, data = package.own_privates(), package.own_fields()
    found = []
    for path, tree in package.trees.items():
        tests = path.name == "conformance.py" or "tests" in path.relative_to(package.folder).parts
        place = path.relative_to(package.folder.parent)
        found += [f"{place}:{line}: {what}" for line, what in sorted(in_tree(tree, own, data, tests=tests))]
    return found


def in_tree(tree: ast.Module, own: set[str], data: set[str], *, tests: bool) -> Iterator[tuple[int, str]]:
    names = bound_names(tree)
    others, cores = of_others(tree, names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from wrong_imports(node, tests=tests)
        elif isinstance(node, ast.Attribute):
            yield from wrong_attribute(node, own)
            its = of_self(node) or (isinstance(node.value, ast.Name) and node.attr in data and root(node) not in cores)
            if isinstance(node.ctx, ast.Store | ast.Del) and not its and root(node) not in others:
                yield node.lineno, f"sets an attribute of something that is not its own: {ast.unparse(node)}"
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            if origin(node.value, names).startswith(CORE):
                yield node.lineno, f"changes an object of the core: {ast.unparse(node)}"
        elif isinstance(node, ast.Call):
            yield from wrong_call(node, names)
        elif isinstance(node, ast.ClassDef):
            yield from wrong_class(node, names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            for match in TARGET.finditer(node.value):
                if not covered(match[1], tests=tests) and is_module(match[1]):
                    yield node.lineno, f"names {match[0]}, which is not covered"


# --- imports -----------------------------------------------------------------------------------------


def wrong_imports(node: ast.Import | ast.ImportFrom, *, tests: bool) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    else:
        modules = [f"{node.module}.{alias.name}" for alias in node.names]
    for name in modules:
        if name.split(".")[0] != CORE:
            continue
        if any(private(part) for part in name.split(".")):
            yield node.lineno, f"imports a private name: {name}"
        elif not covered(name, tests=tests):
            yield node.lineno, f"imports {name}, which is not covered"


def covered(name: str, *, tests: bool) -> bool:
    """Whether a module, or a name of one, is part of what is promised."""
    if name in {f"{CORE}.{one}" for one in PUBLIC}:
        return True
    if name.rpartition(".")[0] == CONFIG:
        return name in ALSO or not is_module(name)
    allowed = (*COVERED, TEST_KIT) if tests else COVERED
    return any(name == one or name.startswith(f"{one}.") for one in allowed if one != CONFIG or name == CONFIG)


@cache
def is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


# --- attributes, assignments, calls ------------------------------------------------------------------


def wrong_attribute(node: ast.Attribute, own: set[str]) -> Iterator[tuple[int, str]]:
    if not private(node.attr):
        return
    if node.attr not in own:
        yield node.lineno, f"uses a private attribute that it does not define: {ast.unparse(node)}"


def of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}


def wrong_call(node: ast.Call, names: dict[str, str]) -> Iterator[tuple[int, str]]:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called in PATCHERS and node.args:
        first = node.args[0]
        text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
        if text.startswith(f"{CORE}.") or origin(first, names).startswith(CORE):
            yield node.lineno, f"patches the core: {ast.unparse(node)}"
        elif called in {"setattr", "delattr"} and isinstance(node.func, ast.Name) and ast.unparse(first) != "self":
            yield node.lineno, f"sets an attribute of something that is not its own: {ast.unparse(node)}"
    if called in {"import_module", "__import__"} and node.args:
        text = getattr(node.args[0], "value", "")
        if isinstance(text, str) and text.split(".")[0] == CORE and not covered(text, tests=False):
            yield node.lineno, f"imports {text}, which is not covered"


# --- classes of the core that are derived from -------------------------------------------------------


def wrong_class(node: ast.ClassDef, names: dict[str, str]) -> Iterator[tuple[int, str]]:
    mine = {name for name in defined(node) if private(name)}
    for base in node.bases:
        where = origin(base, names)
        if where.startswith(f"{CORE}."):
            for name in sorted(mine & privates_of(where)):
                yield node.lineno, f"{node.name} replaces {name}, which is private to {where}"


@cache
def privates_of(where: str) -> frozenset[str]:
    """Private names of a class of the core and of the classes of the core that it derives from."""
    module, _, name = where.rpartition(".")
    found = getattr(importlib.import_module(module), name)
    sources = [inspect.getsource(one) for one in found.__mro__ if one.__module__.startswith(f"{CORE}.")]
    trees = [ast.parse(textwrap.dedent(source)) for source in sources]
    return frozenset(name for tree in trees for name in defined(tree) if private(name))


# --- names -------------------------------------------------------------------------------------------


def private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def bound_names(tree: ast.Module) -> dict[str, str]:
    """What each imported name is, from everywhere in the module."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def of_others(tree: ast.Module, names: dict[str, str]) -> tuple[set[str], set[str]]:
    """Variables that a library other than the core made or types, and those of the core.

    ``tokenizer = tokenizers.Tokenizer(...)`` and ``parser: argparse.ArgumentParser`` are a library's.
    """
    others, cores = set(names), {name for name, where in names.items() if where.split(".")[0] == CORE}
    others -= cores
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name):
            name, maker = node.targets[0].id, origin(node.value.func, names)
        elif isinstance(node, ast.arg) and node.annotation is not None:
            name, maker = node.arg, origin(node.annotation, names)
        else:
            continue
        if maker:
            (cores if maker.split(".")[0] == CORE else others).add(name)
    return others - cores, cores


def fields(tree: ast.Module) -> Iterator[str]:
    """Attributes that are declared in classes, or set on ``self``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                    yield inner.target.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and of_self(node):
            yield node.attr


def root(node: ast.expr) -> str:
    """The variable that an expression begins with; else empty."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def origin(node: ast.expr, names: dict[str, str]) -> str:
    """The dotted name of an expression that begins with an imported name; else empty."""
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute):
        start = origin(node.value, names)
        return f"{start}.{node.attr}" if start else ""
    if isinstance(node, ast.Subscript):
        return origin(node.value, names)
    return ""


def defined(tree: ast.AST) -> Iterator[str]:
    """Functions, classes, names that are assigned to, and attributes of ``self`` and ``cls`` that are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and of_self(node):
            yield node.attr
