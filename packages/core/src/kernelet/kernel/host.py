"""Owns pluggy: registers plugins one by one and calls each one's hooks apart from the others.

A pluggy call stops at the first implementation that raises, and drops what the others returned; here each
implementation is called by itself, and what it raises is part of its answer.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pluggy

from kernelet.errors import PluginError
from kernelet.hookspecs import DOMAINS, PROJECT
from kernelet.kernel.allow import close_to
from kernelet.kernel.failure import Contained, Failure
from kernelet.kernel.guard import Guarded, Watch

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, kw_only=True)
class Answer(Generic[T_co]):
    """What one plugin's hook returned; ``value`` is None where it raised ``failure``."""

    plugin: str
    value: T_co | None
    failure: Failure | None = None


class _Holder:
    """What pluggy is given instead of the plugin: it compares plugins with each other, which would run their code."""

    def __init__(self, functions: dict[str, Any]) -> None:
        self.__dict__.update(functions)


class _Manager(pluggy.PluginManager):
    """Looks at a plugin's own names only; half of what ``dir`` lists is Python's."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        return None if name.startswith("__") else super().parse_hookimpl_opts(plugin, name)


class PluginHost:
    """Hook specifications and the plugins that implement them."""

    def __init__(self, watch: Watch | None = None) -> None:
        """``watch``: is told which hook runs, while the process starts."""
        self._watch = watch
        self._manager = _Manager(PROJECT)
        self._callers: dict[str, pluggy.HookCaller] = {}
        self._specs: dict[str, tuple[str, ...]] = {}  # parameters by hook
        for domain in DOMAINS:
            self.add_specs(importlib.import_module(f"kernelet.hookspecs.{domain}"))

    @property
    def hooks(self) -> frozenset[str]:
        """Names of all specified hooks."""
        return frozenset(self._specs)

    def add_specs(self, holder: Any) -> frozenset[str]:
        """Adds the hook specifications of a module or object, and returns their names.

        Raises:
            PluginError: it has none, or one that exists already.
        """
        names = frozenset(n for n in dir(holder) if self._manager.parse_hookspec_opts(holder, n) is not None)
        parameters = {name: tuple(inspect.signature(getattr(holder, name)).parameters) for name in names}
        if not names:
            raise PluginError(f"{holder!r} holds no function marked with kernelet.hookspecs.hookspec")
        if taken := sorted(names & self._specs.keys()):
            raise PluginError(f"the hook {taken[0]} exists already; give the new one another name")
        self._manager.add_hookspecs(holder)
        self._specs |= parameters
        return names

    def register(self, name: str, plugin: object, *, only: str | None = None) -> frozenset[str]:
        """Registers a plugin (or one hook of it) wholly or not at all, and returns the names of its hooks.

        Raises:
            PluginError: an unknown hook, a signature that does not fit, or no hook at all.
        """
        functions = self._implementations(plugin, only)
        holder = _Holder({attribute: function for attribute, _, function in functions})
        try:
            self._manager.register(holder, name)
        except pluggy.PluginValidationError as error:
            raise PluginError(str(error)) from error
        self._callers |= {caller.name: caller for caller in self._manager.get_hookcallers(holder) or ()}
        return frozenset(hook for _, hook, _ in functions)

    def unregister(self, name: str) -> None:
        """Takes a plugin away; nothing happens if it is not there."""
        if self._manager.has_plugin(name):
            self._manager.unregister(name=name)

    def call(self, hook: str, *, reverse: bool = False, **arguments: Any) -> list[Answer[Any]]:
        """Calls every plugin's implementation: ``tryfirst`` ones, the others, ``trylast`` ones, each by plugin name."""
        implementations = self._callers[hook].get_hookimpls() if hook in self._callers else []
        ordered = sorted(implementations, key=lambda i: (i.trylast - i.tryfirst, i.plugin_name), reverse=reverse)
        return [self._call_one(hook, implementation, arguments) for implementation in ordered]

    def _call_one(self, hook: str, implementation: pluggy.HookImpl, arguments: dict[str, Any]) -> Answer[Any]:
        value = None
        doing = f"calling {hook} of plugin {implementation.plugin_name}"
        if self._watch:
            self._watch.on(doing, implementation.plugin_name)
        with Contained() as box, Guarded(doing):
            value = implementation.function(*[arguments[name] for name in implementation.argnames])
        return Answer(plugin=implementation.plugin_name, value=value, failure=box.failure)

    def _check_signature(self, hook: str, function: Any) -> None:
        """An implementation may leave parameters out; it may not ask for others."""
        passed = self._specs.get(hook, ())
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
                raise PluginError(f"wrong signature: {hook} takes plain parameters, not {parameter}")
            if parameter.name not in passed and hook in self._specs:
                raise PluginError(
                    f"wrong signature: {hook} asks for {parameter.name!r}, but gets "
                    f"{', '.join(passed) or 'no parameters'}; it may be written for a newer core"
                )

    def _implementations(self, plugin: object, only: str | None) -> list[tuple[str, str, Any]]:
        """Attribute, hook and function of each implementation."""
        found = []
        for name in dir(plugin) if only is None else [only]:
            options = self._manager.parse_hookimpl_opts(plugin, name)
            if options is None:
                if name in self._specs and inspect.isroutine(getattr(plugin, name)):
                    raise PluginError(f"{name} is not marked: write @hookimpl (kernelet.hookspecs) above it")
                continue
            hook = options.get("specname") or name
            if hook not in self._specs and not options.get("optionalhook"):
                raise PluginError(f"unknown hook {hook}{close_to(hook, self._specs)}")
            if options.get("wrapper") or options.get("hookwrapper"):
                raise PluginError(
                    f"{name} is a hook wrapper; Kernelet calls each plugin's hook by itself, return offers instead"
                )
            function = getattr(plugin, name)
            self._check_signature(hook, function)
            found.append((name, hook, function))
        if not found:
            raise PluginError("it implements no hook; mark its functions with kernelet.hookspecs.hookimpl")
        return found
