"""Small pieces: files up to 400 lines, functions up to 60, interfaces up to 12 methods."""

from __future__ import annotations

import ast

from every import every
from workspace import core_modules, modules

FILE_LINES = 400
FUNCTION_LINES = 60
INTERFACE_METHODS = 12
INTERFACES = {"ABC", "Protocol"}


@every(modules())
def test_file_and_function_sizes(module):
    lines = len(module.text.splitlines())
    assert lines <= FILE_LINES, f"{module} has {lines} lines, {FILE_LINES} are allowed: split it by idea"
    long = [
        f"{node.name} ({node.end_lineno - node.lineno + 1} lines)"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    ]
    assert not long, f"{module}: {FUNCTION_LINES} lines a function are allowed: {long}"


def is_interface(node):
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return bool({base.id if isinstance(base, ast.Name) else getattr(base, "attr", "") for base in bases} & INTERFACES)


@every([m for m in core_modules() if m.layer == "contracts"])
def test_interfaces_are_small(module):
    counts = {
        node.name: sum(isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) for item in node.body)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and is_interface(node)
    }
    large = {name: count for name, count in counts.items() if count > INTERFACE_METHODS}
    assert not large, f"{module}: {INTERFACE_METHODS} methods an interface are allowed: {large}"
