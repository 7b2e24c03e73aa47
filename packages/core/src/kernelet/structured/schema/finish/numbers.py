"""Facts about numbers, as a shape."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Final

from kernelet.structured.refusal import Refusal, UnenforcedError
from kernelet.structured.schema.algebra.clauses import Clause
from kernelet.structured.schema.algebra.facts import AtLeast, AtMost, Multiple, NoneOf, NotMultiple, OneOf
from kernelet.structured.schema.shapes import NumberShape

MAX_TRIED: Final = 10_000
"""Multiples that are looked at to find one that is allowed."""


def number_shape(clause: Clause, path: str) -> NumberShape | None:
    """The numbers that satisfy all facts; None: there are none.

    Raises:
        UnenforcedError: nobody can tell soon whether there are some.
    """
    low = max(
        (fact for fact in clause if isinstance(fact, AtLeast)), key=lambda f: (f.bound, f.exclusive), default=None
    )
    high = min(
        (fact for fact in clause if isinstance(fact, AtMost)), key=lambda f: (f.bound, not f.exclusive), default=None
    )
    divisors = {fact.divisor for fact in clause if isinstance(fact, Multiple)}
    given = [_numbers(fact.values) for fact in clause if isinstance(fact, OneOf)]
    shape = NumberShape(
        integer=Fraction(1) in divisors,
        minimum=low.bound if low else None,
        maximum=high.bound if high else None,
        exclusive_minimum=low is not None and low.exclusive,
        exclusive_maximum=high is not None and high.exclusive,
        multiples=tuple(sorted(divisors - {Fraction(1)})),
        not_multiples=tuple(sorted({fact.divisor for fact in clause if isinstance(fact, NotMultiple)})),
        excluded=frozenset().union(*(_numbers(fact.values) for fact in clause if isinstance(fact, NoneOf))),
    )
    if given:
        values = frozenset(value for value in frozenset.intersection(*given) if allows_number(shape, value))
        return NumberShape(integer=shape.integer, values=values) if values else None
    shape = replace(shape, excluded=frozenset(value for value in shape.excluded if _allows_but_excluded(shape, value)))
    return shape if _has_values(shape, path) else None


def _numbers(values: frozenset[Fraction | str]) -> frozenset[Fraction]:
    return frozenset(value for value in values if isinstance(value, Fraction))


def allows_number(shape: NumberShape, value: Fraction) -> bool:
    """Whether a shape allows a number."""
    return (
        _allows_but_excluded(shape, value)
        and value not in shape.excluded
        and (shape.values is None or value in shape.values)
    )


def _allows_but_excluded(shape: NumberShape, value: Fraction) -> bool:
    if shape.minimum is not None and (value < shape.minimum or (shape.exclusive_minimum and value == shape.minimum)):
        return False
    if shape.maximum is not None and (value > shape.maximum or (shape.exclusive_maximum and value == shape.maximum)):
        return False
    if shape.integer and value.denominator != 1:
        return False
    if any((value / divisor).denominator != 1 for divisor in shape.multiples):
        return False
    return not any((value / divisor).denominator == 1 for divisor in shape.not_multiples)


def least_common_multiple(shape: NumberShape) -> Fraction | None:
    """Whose multiples are the numbers that are multiples of all; None: nothing is asked."""
    divisors = [*shape.multiples, *([Fraction(1)] if shape.integer else [])]
    if not divisors:
        return None
    denominator = math.lcm(*(divisor.denominator for divisor in divisors))
    return Fraction(math.lcm(*(int(divisor * denominator) for divisor in divisors)), denominator)


def _has_values(shape: NumberShape, path: str) -> bool:
    low, high = shape.minimum, shape.maximum
    if low is not None and high is not None and (low > high or (low == high and not allows_number(shape, low))):
        return False
    step = least_common_multiple(shape)
    if step is None:  # an interval, or one number that is allowed: what is not allowed is thin
        return True
    if any((step / divisor).denominator == 1 for divisor in shape.not_multiples):
        return False
    if low is None or high is None:  # of infinitely many multiples not all are multiples of larger ones
        return True
    first, last = math.ceil(low / step), math.floor(high / step)
    for tried, factor in enumerate(range(first, last + 1)):
        if allows_number(shape, factor * step):
            return True
        if tried > MAX_TRIED:
            raise UnenforcedError([Refusal(path, "nobody can tell soon whether any number is allowed here")])
    return False
