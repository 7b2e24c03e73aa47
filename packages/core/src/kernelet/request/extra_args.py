"""``SamplingParams.extra_args``: arguments of plugins. Each is taken by an active plugin, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from kernelet.errors import ParameterError
from kernelet.request.limits import MAX_EXTRA_ARGS_BYTES, MAX_EXTRA_ARGS_DEPTH
from kernelet.request.values import shown

Validator = Callable[[Mapping[str, Any]], None]
"""Raises ParameterError if a plugin does not take these arguments."""

Validators = Mapping[str, Validator]
"""By plugin name."""


def by_plugin(checks: Iterable[tuple[str, Validator]]) -> Validators:
    """One validator a plugin; of a plugin that gives several, all must take the arguments."""
    found: dict[str, tuple[Validator, ...]] = {}
    for plugin, check in checks:
        found[plugin] = (*found.get(plugin, ()), check)
    return {plugin: partial(_check_with_all, mine) for plugin, mine in found.items()}


def _check_with_all(checks: Iterable[Validator], arguments: Mapping[str, Any]) -> None:
    for check in checks:
        check(arguments)


def check_extra_args(value: object, plugins: Validators) -> dict[str, dict[str, Any]] | None:
    """The arguments, each namespace accepted by its plugin; None if there are none.

    Raises:
        ParameterError: it is no dictionary of dictionaries, cannot be sent to another process, names a plugin that is
            not active or takes none, or its plugin refuses it.
    """
    if value is None:
        return None
    name = "extra_args"
    if not isinstance(value, Mapping):
        raise ParameterError(name, f"got {shown(value)}, expected a dictionary of plugin name to its arguments")
    for plugin, arguments in value.items():
        if plugin not in plugins:
            known = ", ".join(sorted(plugins)) or "none"
            raise ParameterError(
                name,
                f"{shown(plugin)} is no active plugin that takes arguments (those that do: {known}): "
                "leave it out, or name the plugin's processor with --logits-processors "
                "or its order with --scheduling-policy",
            )
        if not isinstance(arguments, Mapping) or not all(isinstance(key, str) for key in arguments):
            raise ParameterError(f"{name}[{plugin!r}]", f"got {shown(arguments)}, expected a dictionary with text keys")
    found = {plugin: dict(arguments) for plugin, arguments in value.items()}
    check_encodable(name, found)
    for plugin, arguments in found.items():
        run_validator(plugin, plugins[plugin], arguments)
    return found or None


def run_validator(plugin: str, validate: Validator, arguments: Mapping[str, Any]) -> None:
    """Lets a plugin check its arguments; whatever it raises is the request's own error.

    Raises:
        ParameterError: the plugin refused them, or its check failed.
    """
    try:
        validate(arguments)
    except ParameterError:
        raise
    except Exception as error:
        raise ParameterError(
            f"extra_args[{plugin!r}]", f"the plugin could not check its arguments ({type(error).__name__}: {error})"
        ) from error


def check_encodable(name: str, value: dict[str, Any]) -> None:
    """Whether the arguments can travel: plain data, not too deep and not too large.

    Raises:
        ParameterError: they cannot.
    """
    if depth_of(value, MAX_EXTRA_ARGS_DEPTH) > MAX_EXTRA_ARGS_DEPTH:
        raise ParameterError(name, f"is nested deeper than {MAX_EXTRA_ARGS_DEPTH} levels")
    try:
        size = len(msgspec.msgpack.encode(value))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ParameterError(name, f"holds something that is no plain data ({error})") from error
    if size > MAX_EXTRA_ARGS_BYTES:
        raise ParameterError(name, f"takes {size} bytes, at most {MAX_EXTRA_ARGS_BYTES} are allowed")


def depth_of(value: object, limit: int) -> int:
    """Levels of nesting; stops counting beyond ``limit``."""
    members = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else None
    if members is None or limit < 0:
        return 0
    return 1 + max((depth_of(member, limit - 1) for member in members), default=0)
