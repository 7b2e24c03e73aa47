"""A hookspec says when it is called, where, what it returns, in which order, and since when."""

from __future__ import annotations

import ast
import re

import pytest
from workspace import core_modules

FIELDS = ("When", "Process", "Returns", "Order", "Since")
PROCESSES = re.compile(r"\b(all|frontend|engine|worker|caller)s?\b")
SINCE = re.compile(r"^([a-z_]+) \d+\.\d+\.?$")


def find_specs():
    for module in core_modules():
        if module.layer == "hookspecs":
            for node in ast.walk(module.tree):
                if isinstance(node, ast.FunctionDef) and any(
                    "hookspec" in ast.unparse(decorator) for decorator in node.decorator_list
                ):
                    yield pytest.param(module, node, id=node.name)


SPECS = list(find_specs())


def fields(docstring):
    """The fields of a docstring; a line that is indented further continues the one before."""
    found = re.findall(r"^(\w+): (.*(?:\n[ \t]+.*)*)", docstring, re.MULTILINE)
    return {name: re.sub(r"\s+", " ", text) for name, text in found}


def test_there_are_specs():
    assert len(SPECS) >= 9


@pytest.mark.parametrize("module, node", SPECS)
def test_hookspec_is_documented(module, node):
    docstring = ast.get_docstring(node) or ""
    found = fields(docstring)
    assert tuple(name for name in found if name in FIELDS) == FIELDS, f"{module}: {node.name} needs {FIELDS} in order"
    assert PROCESSES.search(found["Process"]), f"{node.name}: Process names all, frontend, engine or worker"
    assert SINCE.match(found["Since"]), f"{node.name}: Since is a contract and its version, as `model 1.0.`"


@pytest.mark.parametrize("module, node", SPECS)
def test_hookspec_is_typed_and_plain(module, node):
    assert node.name.startswith("kernelet_")
    assert node.returns is not None, f"{node.name} has no return annotation"
    arguments = node.args
    assert not (arguments.kwonlyargs or arguments.vararg or arguments.kwarg or arguments.posonlyargs), (
        f"{node.name}: pluggy sees plain parameters only"
    )
    assert not arguments.defaults, f"{node.name}: an implementation never gets the default of a spec"
    assert all(argument.annotation for argument in arguments.args), f"{node.name} has parameters without annotation"


@pytest.mark.parametrize("module", [m for m in core_modules() if m.layer == "hookspecs"], ids=str)
def test_hookspecs_import_nothing_of_the_core(module):
    bad = [
        item.name
        for item in module.imports
        if item.name.startswith("kernelet.")
        and not item.name.startswith("kernelet.hookspecs")
        and not item.annotations_only
    ]
    assert not bad, f"{module} imports {bad} at run time"
