"""Small expressions that many others are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kernelet.contracts.structured import Chars, Expression, Text, Union
from kernelet.structured.automata.alphabet import normalize
from kernelet.structured.expressions import repeat_of, union_of

DIGIT: Final = Chars(((0x30, 0x39),))

NOTHING: Final = Union(())
"""What no text is: ``tidy`` leaves it out, and what needs it."""


class UnwritableError(Exception):
    """A shape cannot be written; says why. Whoever knows the place makes a refusal of it."""


def optional(part: Expression) -> Expression:
    """It or nothing."""
    return repeat_of(part, 0, 1)


def any_of(parts: Iterable[Expression]) -> Expression:
    """Any one of them."""
    return union_of(*parts)


def chars(ranges: Iterable[tuple[int, int]]) -> Expression:
    """One character; a text where there is only one."""
    given = tuple(ranges)
    if not given:
        return NOTHING
    return Text(chr(given[0][0])) if len(given) == 1 and given[0][0] == given[0][1] else Chars(given)


def char_of(codes: Iterable[int]) -> Expression:
    """One character of these."""
    return chars(normalize((code, code) for code in codes))


def digits(values: Iterable[int]) -> Expression:
    """One decimal digit of these."""
    return char_of(ord("0") + value for value in values)
