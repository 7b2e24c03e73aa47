"""Reads the hook specifications of a domain as pluggy sees them."""

from __future__ import annotations

import importlib
import inspect
import re

import pluggy
import pytest

from kernelet.contracts.versions import API_VERSIONS
from kernelet.hookspecs import PROJECT

FIELDS = ("When", "Process", "Returns", "Order", "Since")


class Domain:
    """The specifications of one module."""

    def __init__(self, name):
        self.name = name
        self.module = importlib.import_module(f"kernelet.hookspecs.{name}")
        manager = pluggy.PluginManager(PROJECT)
        manager.add_hookspecs(self.module)
        self.manager = manager
        self.specs = {
            hook: getattr(self.module, hook)
            for hook in dir(self.module)
            if manager.parse_hookspec_opts(self.module, hook) is not None
        }

    def parameters(self):
        """As pluggy passes them: keyword-only ones and defaults would be missing here."""
        return {hook: list(getattr(self.manager.hook, hook).spec.argnames) for hook in self.specs}

    def returns(self):
        return {hook: inspect.signature(spec).return_annotation for hook, spec in self.specs.items()}

    def check_documented(self):
        """One sentence, then When, Process, Returns, Order, Since, the last one a version that exists."""
        for hook, spec in self.specs.items():
            lines = inspect.getdoc(spec).splitlines()
            assert lines[0].endswith("."), hook
            assert lines[1] == "", hook
            names = [line.partition(":")[0] for line in lines[2:] if re.match(r"[A-Z]\w+: ", line)]
            assert tuple(names) == FIELDS, hook
            domain, _, version = lines[-1].removeprefix("Since: ").rstrip(".").partition(" ")
            assert domain == self.name, hook
            major, minor = map(int, version.split("."))
            assert (1, 0) <= (major, minor) <= API_VERSIONS[domain], hook


@pytest.fixture
def domain(request):
    """The domain that the test module is named after."""
    return Domain(request.module.__name__.rpartition(".")[2].removeprefix("test_"))
