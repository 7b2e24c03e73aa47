"""Exceptions as data: what a worker's process raises, its parent raises as the same class with the same message."""

from __future__ import annotations

import builtins

import msgspec

from kernelet import errors

HOMES = (errors, builtins)
"""Modules whose exceptions every process knows."""


class Failure(msgspec.Struct, frozen=True):
    """An exception.

    Attributes:
        kinds: Names of its class and of the classes above it.
        message: What it says.
        trace: Where it was raised, for people.
    """

    kinds: tuple[str, ...]
    message: str
    trace: str = ""


def describe(error: BaseException, trace: str = "") -> Failure:
    """An exception, to be sent."""
    return Failure(tuple(kind.__name__ for kind in type(error).__mro__), str(error), trace)


def revive(failure: Failure, where: str) -> Exception:
    """The exception to raise; one of a class that only the other process knows is of the nearest one above it.

    Args:
        failure: What was sent.
        where: Who sent it, for the note that holds the trace.
    """
    found = next((kind for name in failure.kinds if (kind := _find(name)) is not None), RuntimeError)
    message = failure.message if found.__name__ == failure.kinds[0] else f"{failure.kinds[0]}: {failure.message}"
    made = _make(found, message)
    if failure.trace:
        made.add_note(f"raised by {where}:\n{failure.trace.rstrip()}")
    return made


def _find(name: str) -> type[Exception] | None:
    for home in HOMES:
        found = getattr(home, name, None)
        if isinstance(found, type) and issubclass(found, Exception):
            return found
    return None


def _make(kind: type[Exception], message: str) -> Exception:
    """An exception that says the message, whatever its class wants to be made from."""
    made = kind.__new__(kind)
    made.args = (message,)
    return made if str(made) == message else RuntimeError(f"{kind.__name__}: {message}")
