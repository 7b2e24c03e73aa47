"""Checks of single values. Python's and numpy's scalars pass where they mean the same number; a bool is no number."""

from __future__ import annotations

import json
import math
import numbers
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, SupportsInt, TypeGuard

import numpy as np

from kernelet.errors import ParameterError

SHOWN = 60


def shown(value: object) -> str:
    """A short form of what came, for messages."""
    text = ""
    try:
        for piece in pieces(value):
            text += piece
            if len(text) > SHOWN:
                break
    except Exception:  # noqa: BLE001  an object whose repr fails must not hide the error that is being written
        text = "..."
    if len(text) > SHOWN:
        text = text[:SHOWN] + "..."
    return f"{text} ({type(value).__name__})"


def pieces(value: object) -> Iterator[str]:
    """The ``repr`` of a value in pieces: that of a large one takes long, and little of it is shown."""
    if type(value) in {str, bytes}:
        yield repr(value[: SHOWN + 1])  # type: ignore[index]
    elif not value or type(value) not in {list, dict}:
        yield repr(value)
    else:
        assert isinstance(value, list | dict)
        mark = "[" if isinstance(value, list) else "{"
        for member in value:
            yield mark
            yield from pieces(member)
            if isinstance(value, dict):
                yield ": "
                yield from pieces(value[member])
            mark = ", "
        yield "]" if isinstance(value, list) else "}"


def is_integer(value: Any) -> TypeGuard[SupportsInt]:
    """Whether it is a whole number of Python or numpy, and no bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def integer(name: str, value: object, low: int, high: int) -> int:
    """A whole number in [low, high].

    Raises:
        ParameterError: it is of another type (a float or bool included), or out of range.
    """
    if not is_integer(value) or not low <= int(value) <= high:
        raise ParameterError(name, f"got {shown(value)}, expected an integer from {low} to {high}")
    return int(value)


def real(name: str, value: object, low: float, high: float, *, low_excluded: bool = False) -> float:
    """A finite number in [low, high], or in (low, high].

    Raises:
        ParameterError: it is of another type (a bool included), NaN or infinite, or out of range.
    """
    interval = f"a number in {'(' if low_excluded else '['}{low:g}, {high:g}]"
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise ParameterError(name, f"got {shown(value)}, expected {interval}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or not low <= number <= high or (low_excluded and number == low):
        raise ParameterError(name, f"got {shown(value)}, expected {interval}")
    return number


def boolean(name: str, value: object) -> bool:
    """True or False, nothing that is merely true-ish.

    Raises:
        ParameterError: it is of another type.
    """
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(name, f"got {shown(value)}, expected true or false")
    return bool(value)


def items(name: str, value: object, limit: int, what: str) -> list[Any]:
    """The members of a list, tuple, set or array, of which there may be ``limit`` at most.

    Raises:
        ParameterError: it is no such collection, or too long.
    """
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Sequence | set | frozenset | np.ndarray):
        raise ParameterError(name, f"got {shown(value)}, expected a list of {what}")
    if isinstance(value, np.ndarray) and value.ndim != 1:
        raise ParameterError(name, f"got an array of {value.ndim} dimensions, expected a list of {what}")
    if len(value) > limit:
        raise ParameterError(name, f"got {len(value)} {what}, at most {limit} are allowed")
    return sorted(value, key=repr) if isinstance(value, set | frozenset) else list(value)


def texts(name: str, value: object, limit: int, limit_bytes: int) -> tuple[str, ...]:
    """Non-empty strings, ``limit_bytes`` of UTF-8 together at most.

    Raises:
        ParameterError: a member is no string, empty, or not valid Unicode; there are too many, or they are too long.
    """
    total = 0
    found = items(name, value, limit, "strings")
    for place, member in enumerate(found):
        if not isinstance(member, str) or not member:
            raise ParameterError(name, f"got {shown(member)} at index {place}, expected a non-empty string")
        try:
            total += len(member.encode())
        except UnicodeEncodeError:
            raise ParameterError(
                name, f"got {shown(member)} at index {place}, which holds a lone surrogate: that is no character"
            ) from None
    if total > limit_bytes:
        raise ParameterError(name, f"got {total} bytes of text in all, at most {limit_bytes} are allowed")
    return tuple(found)


def token_id(name: str, value: object, vocab_size: int) -> int:
    """An id of the vocabulary.

    Raises:
        ParameterError: it is no integer, or outside the vocabulary.
    """
    if (
        isinstance(value, bool | np.bool_)
        or not isinstance(value, numbers.Integral)
        or not 0 <= int(value) < vocab_size
    ):
        raise ParameterError(
            name, f"got token id {shown(value)}, expected an integer from 0 to {vocab_size - 1} (the vocabulary)"
        )
    return int(value)


def token_ids(name: str, value: object, vocab_size: int, limit: int) -> tuple[int, ...]:
    """Ids of the vocabulary, each once, in the order given.

    Raises:
        ParameterError: a member is no such id, or there are too many.
    """
    return unique(token_id(name, member, vocab_size) for member in items(name, value, limit, "token ids"))


def unique(values: Iterable[int]) -> tuple[int, ...]:
    """Each value once, in the order of its first appearance."""
    return tuple(dict.fromkeys(values))


def exact_number(text: str) -> float | Decimal:
    """A number of JSON that has a fraction or an exponent: a float where that is written with the same digits.

    Raises:
        ValueError: it is too large, or too close to 0, for a float.
    """
    near, exact = float(text), Decimal(text)
    if not math.isfinite(near) or (exact and not near):
        raise ValueError(f"the number {text[:40]} is out of range")
    return near if Decimal(repr(near)) == exact else exact


def once_each(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object none of whose names comes twice: which of the two counts would be a guess.

    Raises:
        ValueError: one does.
    """
    found = dict(members)
    if len(found) < len(members):
        twice = next(name for name, count in Counter(name for name, _ in members).items() if count > 1)
        raise ValueError(f"an object has the name {json.dumps(twice, ensure_ascii=False)[:100]} twice")
    return found
