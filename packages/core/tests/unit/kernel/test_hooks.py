from __future__ import annotations

import inspect

from kernelet.kernel.hooks import Hooks
from kernelet.kernel.host import PluginHost


class Recording:
    """Stands for the host: remembers which hook is called with what."""

    def __init__(self):
        self.calls = []

    def call(self, hook, **arguments):
        self.calls.append((hook, arguments))
        return []


def methods():
    """Every method of every domain of the facade."""
    for domain, holder in vars(Hooks(Recording())).items():
        if not domain.startswith("_"):
            for name, method in inspect.getmembers(holder, inspect.ismethod):
                if not name.startswith("_"):
                    yield domain, name, method


def test_one_method_a_hook_and_one_hook_a_method():
    called = []
    for _, name, method in methods():
        recording = method.__self__._host
        recording.calls.clear()
        parameters = list(inspect.signature(method).parameters)
        method(**dict.fromkeys(parameters))
        ((hook, arguments),) = recording.calls
        assert hook == f"kernelet_{name}"
        arguments.pop("reverse", None)
        assert list(arguments) == parameters
        called.append(hook)
    assert len(called) == len(set(called))
    assert set(called) == PluginHost().hooks


def test_methods_pass_what_the_spec_has():
    import importlib

    for domain, name, method in methods():
        spec = getattr(importlib.import_module(f"kernelet.hookspecs.{domain}"), f"kernelet_{name}")
        assert list(inspect.signature(method).parameters) == list(inspect.signature(spec).parameters)


def test_ends_are_told_in_reverse():
    recording = Recording()
    hooks = Hooks(recording).lifecycle
    hooks.engine_stopped()
    hooks.process_stopped("worker", 1)
    hooks.engine_started()
    assert [arguments.get("reverse", False) for _, arguments in recording.calls] == [True, True, False]


def test_extra_calls_a_hook_by_name():
    recording = Recording()
    Hooks(recording).extra("kernelet_bells", count=2)
    assert recording.calls == [("kernelet_bells", {"count": 2})]
