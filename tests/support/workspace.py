"""The workspace as data: its distributions, their modules, and what each module imports. Nothing is imported here."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Distribution:
    """A folder of packages/."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def metadata(self) -> dict:
        return tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    @property
    def package(self) -> str:
        return "kernelet" if self.name == "core" else "kernelet_" + self.name.replace("-", "_")

    @property
    def is_plugin(self) -> bool:
        """Whether it registers something; else it is the core, or a library of plugins."""
        return (self.folder / "src" / self.package / "plugin.py").is_file()

    @cached_property
    def modules(self) -> tuple[Module, ...]:
        source = self.folder / "src"
        return tuple(Module(self, path.relative_to(source)) for path in sorted(source.rglob("*.py")))


@dataclass(frozen=True)
class Import:
    """One import of a module: ``name`` as far as it can be a module, and where it stands."""

    name: str
    line: int
    annotations_only: bool
    in_function: bool


@dataclass(frozen=True)
class Module:
    """A Python file of a distribution; ``path`` is relative to its src folder."""

    distribution: Distribution
    path: Path

    def __str__(self) -> str:
        return str(self.file.relative_to(ROOT))

    @property
    def file(self) -> Path:
        return self.distribution.folder / "src" / self.path

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def name(self) -> str:
        return ".".join(self.path.parent.parts if self.is_package else self.path.with_suffix("").parts)

    @property
    def layer(self) -> str:
        """First part below the import package: ``kernelet.cache.pool`` is in ``cache``."""
        return self.name.split(".")[1] if "." in self.name else ""

    @cached_property
    def text(self) -> str:
        return self.file.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, str(self.file))

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return tuple(_imports(self.tree, annotations_only=False, in_function=False))


@cache
def distributions() -> tuple[Distribution, ...]:
    return tuple(Distribution(path.parent) for path in sorted(ROOT.glob("packages/*/pyproject.toml")))


@cache
def modules() -> tuple[Module, ...]:
    return tuple(module for distribution in distributions() for module in distribution.modules)


def core_modules() -> tuple[Module, ...]:
    return tuple(module for module in modules() if module.distribution.name == "core")


@cache
def module_names() -> frozenset[str]:
    return frozenset(module.name for module in modules())


IMPORT_TORCH = frozenset({"torch", "xgrammar"})
"""What imports torch at once."""


def needs_torch(module: Module) -> bool:
    """Whether importing it imports torch, directly or through other modules of the workspace."""
    return module.name in _torch_modules()


@cache
def _torch_modules() -> frozenset[str]:
    """Grows the set of modules that need torch until nothing changes."""
    edges = {module.name: _loaded_with(module) for module in modules()}
    found = {name for name, loaded in edges.items() if loaded & IMPORT_TORCH}
    while grown := {name for name, loaded in edges.items() if name not in found and loaded & found}:
        found |= grown
    return frozenset(found)


def brought(module: Module) -> tuple[Module, ...]:
    """Modules of the workspace that are imported with it, directly or by others."""
    all_of = {one.name: one for one in modules()}
    found: set[str] = set()
    new = {module.name}
    while new := {name for one in new for name in _loaded_with(all_of[one]) if name in all_of} - found:
        found |= new
    return tuple(all_of[name] for name in sorted(found - {module.name}))


def _loaded_with(module: Module) -> set[str]:
    """What is imported at once with a module: its own imports and the packages around them."""
    names = {item.name for item in module.imports if not item.annotations_only and not item.in_function}
    parts = module.name.split(".")
    loaded = {".".join(parts[:end]) for end in range(1, len(parts))}
    for name in names:
        pieces = name.split(".")
        loaded |= {".".join(pieces[:end]) for end in range(1, len(pieces) + 1)}
    return loaded


def _imports(node: ast.AST, *, annotations_only: bool, in_function: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, annotations_only, in_function)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"line {child.lineno}: imports are absolute"
            for alias in child.names:
                # `from kernelet import errors` imports a module, `from kernelet.errors import X` a name of one
                yield Import(f"{child.module}.{alias.name}", child.lineno, annotations_only, in_function)
        elif isinstance(child, ast.If) and _is_type_checking(child.test):
            for statement in child.body:
                yield from _imports(ast.Module([statement], []), annotations_only=True, in_function=in_function)
            for statement in child.orelse:
                yield from _imports(
                    ast.Module([statement], []), annotations_only=annotations_only, in_function=in_function
                )
        else:
            inside = in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(child, annotations_only=annotations_only, in_function=inside)


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )
