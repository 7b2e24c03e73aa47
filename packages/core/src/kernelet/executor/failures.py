"""Exceptions as data: what one process raises, another raises as the same class with the same message."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from kernelet import errors

HOMES: Mapping[str, Any] = MappingProxyType({"builtins": builtins, "kernelet.errors": errors})
"""Modules whose exceptions every process knows; of others, the nearest class above that is in here stands for them."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """An exception.

    Attributes:
        kinds: Its class and those above it, as ``module:name``.
        message: What it says.
        attributes: Its attributes that are plain values.
        trace: Where it was raised, for people.
    """

    kinds: list[str]
    message: str
    attributes: dict[str, Any] = {}
    trace: str = ""


def describe(error: BaseException, trace: str = "") -> Failure:
    """An exception, to be sent."""
    return Failure(
        kinds=[f"{kind.__module__}:{kind.__qualname__}" for kind in type(error).__mro__],
        message=str(error),
        attributes={name: value for name, value in vars(error).items() if is_plain(value) and name != "__notes__"},
        trace=trace,
    )


def is_plain(value: object) -> bool:
    """Whether it can be sent."""
    try:
        msgspec.msgpack.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False
    return True


def revive(failure: Failure, where: str = "another process") -> Exception:
    """The exception to raise. One of a class that only the other process knows names that class in its message.

    Args:
        failure: What was sent.
        where: Who sent it, for the note that holds the trace.
    """
    kind = next((found for found in map(find, failure.kinds) if found is not None), RuntimeError)
    known = failure.kinds[0] == f"{kind.__module__}:{kind.__qualname__}"
    message = failure.message if known else f"{failure.kinds[0].rpartition(':')[2]}: {failure.message}"
    made = bare(kind, message)
    made.__dict__.update(failure.attributes)
    if failure.trace:
        made.add_note(f"raised by {where}:\n{failure.trace.rstrip()}")
    return made


def find(name: str) -> type[Exception] | None:
    """The exception class of a name; None: not one that is known here, or not one to be caught."""
    home, _, text = name.partition(":")
    found: Any = getattr(HOMES.get(home), text, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def bare(kind: type[Exception], message: str) -> Exception:
    """An exception that says ``message``, whatever its class wants to be made from."""
    made = RuntimeError(f"{kind.__name__}: {message}")
    with contextlib.suppress(Exception):  # a class that cannot be made so
        found = kind.__new__(kind, message)
        found.args = (message,)
        if str(found) == message:
            return found
    return made
