"""The public surface of the contracts as plain data, read from the sources: nothing is imported.

Fields and parameters are kept as they stand in the code: ``"int = 1"``, ``"(self, x: Any, axis: int = -1) -> Any"``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from workspace import Module, core_modules

SHARED = "shared"
"""What every domain uses: a change of it needs the bump in all of them."""

SHARED_MODULES = ("contracts.offer", "contracts.plugins", "contracts.versions", "hookspecs")

ALSO = {
    "kernelet.errors": "lifecycle",
    "kernelet.config.cache": "lifecycle",
    "kernelet.config.engine": "lifecycle",
    "kernelet.config.graphs": "lifecycle",
    "kernelet.config.model": "lifecycle",
    "kernelet.config.parallel": "lifecycle",
    "kernelet.config.plugins": "lifecycle",
    "kernelet.config.scheduler": "lifecycle",
    "kernelet.contracts.commands": "lifecycle",
    "kernelet.contracts.graphs": "attention",
    "kernelet.contracts.inspection": "executor",
    "kernelet.contracts.kv_pages": "kv",
    "kernelet.contracts.kv_start": "kv",
    "kernelet.contracts.kv_steps": "kv",
    "kernelet.contracts.kv_worker": "kv",
    "kernelet.contracts.pooling": "io",
    "kernelet.contracts.quant_config": "quant",
    "kernelet.contracts.quantizing": "quant",
    "kernelet.contracts.steps": "executor",
    "kernelet.layers.context": "model",
    "kernelet.layers.ops": "op",
    "kernelet.layers.step": "op",
    "kernelet.worker.worker": "executor",
}
"""Modules outside contracts/ and hookspecs/ that contracts name: what hooks are given, what plugins may raise."""

PROVIDED = frozenset({"PluginView", "Orderable", "KVPages", "KVRequest", "OpTable", "ModelContext", "TensorParallel"})
"""Interfaces that the core implements and plugins only use: more of them breaks nobody."""

NOT_A_CONTRACT = frozenset(
    {"DOMAINS", "API_VERSIONS", "SINGLE_RANK", "ELEMENTARY", "COMPOSITE", "OP_NAMES", "DECOMPOSITION"}
)
"""Names whose value is told by the file itself, or is the core's own affair."""

DECORATED = {"classmethod": "classmethod", "staticmethod": "staticmethod", "property": "property"}


@dataclass(frozen=True)
class Part:
    """A module that contributes to a domain."""

    domain: str
    module: Module


@cache
def parts() -> tuple[Part, ...]:
    found = []
    for module in core_modules():
        inside = module.name.removeprefix("kernelet.")
        if inside in SHARED_MODULES:
            found.append(Part(SHARED, module))
        elif module.name in ALSO:
            found.append(Part(ALSO[module.name], module))
        elif module.layer in {"contracts", "hookspecs"} and not module.is_package:
            found.append(Part(inside.partition(".")[2], module))
    return tuple(found)


def surface(versions: dict[str, str], members: Iterable[Part] | None = None) -> dict:
    """Versions, and for each domain its hooks, classes, functions and names."""
    domains: dict[str, dict] = {SHARED: empty(), **{name: empty() for name in versions}}
    for part in parts() if members is None else members:
        for key, found in describe(part.module.tree).items():
            domains[part.domain][key] |= found
    return {"versions": dict(versions), "domains": domains}


def core_versions() -> dict[str, str]:
    from kernelet.contracts.versions import API_VERSIONS

    return {domain: str(version) for domain, version in API_VERSIONS.items()}


def empty() -> dict[str, dict]:
    return {"hooks": {}, "classes": {}, "functions": {}, "names": {}}


def describe(tree: ast.Module) -> dict[str, dict]:
    """The public surface of one module."""
    found = empty()
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and public(node.name):
            found["classes"][node.name] = describe_class(node)
        elif isinstance(node, ast.FunctionDef) and public(node.name):
            is_hook = any(name == "hookspec" for name in decorators(node))
            found["hooks" if is_hook else "functions"][node.name] = signature(node)
        elif named := assignment(node):
            found["names"] |= named
    return found


def public(name: str) -> bool:
    return not name.startswith("_")


def assignment(node: ast.stmt) -> dict[str, str]:
    """A constant or type alias, by name."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name, value = node.targets[0].id, node.value
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        name, value = node.target.id, node.value
    else:
        return {}
    text = ast.unparse(value)
    if not public(name) or name in NOT_A_CONTRACT or text.startswith("TypeVar("):
        return {}
    return {name: text}


def describe_class(node: ast.ClassDef) -> dict:
    options = [ast.unparse(decorator) for decorator in node.decorator_list]
    options += [f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in node.keywords]
    described: dict = {"bases": [ast.unparse(base) for base in node.bases], "options": options}
    if node.name in PROVIDED:
        described["provided"] = True
    fields: dict[str, str] = {}
    members: dict[str, dict] = {}
    for item in node.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and (public(item.name) or dunder(item.name)):
            members[item.name] = method(item)
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and public(item.target.id):
            default = "" if item.value is None else f" = {ast.unparse(item.value)}"
            fields[item.target.id] = ast.unparse(item.annotation) + default
        elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            fields[item.targets[0].id] = f"value = {ast.unparse(item.value)}"
    return described | ({"fields": fields} if fields else {}) | ({"members": members} if members else {})


def dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in {"__reduce__", "__post_init__"}


def decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    return (ast.unparse(decorator) for decorator in node.decorator_list)


def method(node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict:
    names = set(decorators(node))
    kind = next((DECORATED[name] for name in sorted(names) if name in DECORATED), "method")
    described = {"kind": f"async {kind}" if isinstance(node, ast.AsyncFunctionDef) else kind}
    if "abstractmethod" in names:
        described["abstract"] = True
    return described | {"signature": signature(node)}


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """``(self, name: type = default) -> returns``."""
    returns = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    return f"({ast.unparse(node.args)}){returns}"
