"""Whether a class has what its contract asks for, as far as signatures tell."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from kernelet.errors import PluginError


class DoubtError(Exception):
    """Something that is not as it is usually; the message says when it is right. A warning."""


CALLED_TOO = frozenset({"__init__", "__len__"})
"""Methods with underscores that a contract may have."""


def check_class(target: object, interface: type, *, constructor: bool = True) -> None:
    """Holds a class to its interface.

    Args:
        target: What an import string names.
        interface: The abstract class of the contract.
        constructor: Whether it is made as today's contract says; False for an older major. That of a class with an
            ``open`` of its own is never compared.

    Raises:
        PluginError: it is no subclass, leaves a method out, or has one that cannot be called as the contract does.
    """
    if not isinstance(target, type) or not issubclass(target, interface):
        raise PluginError(f"{_name(target)} is no subclass of {interface.__module__}.{interface.__qualname__}")
    if missing := sorted(getattr(target, "__abstractmethods__", ())):
        raise PluginError(f"{_name(target)} does not implement {', '.join(missing)} of {interface.__qualname__}")
    constructor = constructor and not opens_itself(target, interface)
    for name in _methods(interface):
        if (constructor or name != "__init__") and getattr(target, name) is not getattr(interface, name):
            _check_call(f"{_name(target)}.{name}", getattr(target, name), getattr(interface, name))


def opens_itself(target: object, interface: type) -> bool:
    """Whether a class has its own ``open`` of a contract that makes objects by it: its constructor is its own too."""
    contract = getattr(vars(interface).get("open"), "__func__", None)
    return contract is not None and getattr(getattr(target, "open", None), "__func__", None) is not contract


def check_model(target: object, protocol: type) -> None:
    """Holds the class of a model to what the core's worker calls.

    Raises:
        PluginError: it is no class.
        DoubtError: it lacks a method; the platform may bring a worker that does not need it.
    """
    if not isinstance(target, type):
        raise PluginError(f"{_name(target)} is no class")
    missing = [name for name in _methods(protocol) if not callable(getattr(target, name, None))]
    if missing:
        raise DoubtError(f"{_name(target)} has no {', '.join(missing)}: only a worker of the platform's own can run it")


def _methods(interface: type) -> Iterator[str]:
    members = {name: member for one in reversed(interface.__mro__[:-1]) for name, member in vars(one).items()}
    for name, member in members.items():
        function = getattr(member, "__func__", member)
        if inspect.isfunction(function) and (not name.startswith("_") or name in CALLED_TOO):
            yield name


def _check_call(name: str, method: Callable[..., Any], contract: Callable[..., Any]) -> None:
    parameters = list(inspect.signature(contract).parameters.values())
    if any(one.kind in {one.VAR_POSITIONAL, one.VAR_KEYWORD} for one in parameters):
        return  # each implementation has its own
    for wanted in (parameters, [one for one in parameters if one.default is one.empty]):
        given = [None for one in wanted if one.kind is not one.KEYWORD_ONLY]
        named = {one.name: None for one in wanted if one.kind is one.KEYWORD_ONLY}
        try:
            inspect.signature(method).bind(*given, **named)
        except TypeError as error:
            call = ", ".join(one.name for one in wanted if one.name not in {"self", "cls"})
            raise PluginError(f"{name} cannot be called as the contract does, with ({call}): {error}") from None


def _name(target: object) -> str:
    return f"{target.__module__}.{target.__qualname__}" if isinstance(target, type) else repr(target)
