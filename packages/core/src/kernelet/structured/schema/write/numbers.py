"""Numbers as JSON writes them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from kernelet.contracts.structured import EMPTY, Chars, Expression, Text
from kernelet.structured.expressions import concat_of, repeat_of, union_of
from kernelet.structured.rules import RuleWriter
from kernelet.structured.schema.shapes import NumberShape
from kernelet.structured.schema.write.digits import DigitWriter, Tail
from kernelet.structured.schema.write.grid import Grid, decimal, grid_of
from kernelet.structured.schema.write.parts import DIGIT, NOTHING, any_of, digits, optional

EXACT_DIGITS: Final = 15
"""Digits that every double keeps: where the next number matters, no more are written."""

FEW: Final = 256
"""Numbers that are written one by one."""

MINUS: Final = Text("-")


@dataclass(frozen=True)
class Interval:
    """Numbers between two bounds; None: no bound."""

    low: Fraction | None
    high: Fraction | None
    low_open: bool = False
    high_open: bool = False

    @property
    def is_empty(self) -> bool:
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def holds(self, value: Fraction) -> bool:
        above = self.low is None or value > self.low or (value == self.low and not self.low_open)
        return above and (self.high is None or value < self.high or (value == self.high and not self.high_open))

    def reaches(self, value: Fraction | None) -> bool:
        """Whether it has no end before a value, nor just there; None: no end at all."""
        if self.high is None or value is None:
            return self.high is None
        return self.high > value or (self.high == value and not self.high_open)

    def negated(self) -> Interval:
        return Interval(
            None if self.high is None else -self.high,
            None if self.low is None else -self.low,
            self.high_open,
            self.low_open,
        )

    def from_zero(self, *, with_zero: bool) -> Interval:
        """The part of it that is not negative."""
        if self.low is None or self.low < 0 or (self.low == 0 and not with_zero):
            return replace(self, low=Fraction(0), low_open=not with_zero)
        return self

    def without(self, value: Fraction) -> Iterator[Interval]:
        """Its two parts beside a value; itself, if that is not in it."""
        if not self.holds(value):
            yield self
            return
        for part in (replace(self, high=value, high_open=True), replace(self, low=value, low_open=True)):
            if not part.is_empty:
                yield part

    def whole(self) -> Interval:
        """The same for whole numbers, with bounds that are numbers of it."""
        low, high = self.low, self.high
        if low is not None:
            low = Fraction(math.floor(low) + 1 if self.low_open else math.ceil(low))
        if high is not None:
            high = Fraction(math.ceil(high) - 1 if self.high_open else math.floor(high))
        return Interval(low, high)


def number(shape: NumberShape, rules: RuleWriter) -> Expression:
    """Every number of a shape: in digits; with an exponent where it is large or small and nothing but bounds matters.

    Raises:
        UnwritableError: there are too many cases.
    """
    if shape.values is not None:
        return any_of(_value(value, shape) for value in sorted(shape.values))
    if shape == NumberShape():
        return _number()
    if shape == NumberShape(integer=True):
        return _integer()
    grid = grid_of((*shape.multiples, *([Fraction(1)] if shape.integer else [])), shape.not_multiples)
    writer = DigitWriter(grid, rules)
    return any_of(_interval(interval, grid, writer) for interval in _intervals(shape, grid))


def _value(value: Fraction, shape: NumberShape) -> Expression:
    """One number: 1 and 1.0, and as serializers write it; of integers in digits alone."""
    text = decimal(value)
    if shape.integer:
        return Text(text)
    forms = [text]
    if value.denominator == 1:
        forms.append(f"{text}.0")
    try:
        short = json.dumps(float(value))
    except OverflowError:
        short = text
    if "e" in short and Fraction(short) == value:
        forms.append(short)
    return any_of(map(Text, forms))


def _intervals(shape: NumberShape, grid: Grid | None) -> list[Interval]:
    """What is left between the bounds beside the numbers that are left out; ascending."""
    found = [Interval(shape.minimum, shape.maximum, shape.exclusive_minimum, shape.exclusive_maximum)]
    for value in sorted(shape.excluded):
        if grid is None or grid.holds(value):
            found = [part for one in found for part in one.without(value)]
    if grid is not None and grid.is_whole:
        found = [one.whole() for one in found]
    return [one for one in found if not one.is_empty]


def _interval(interval: Interval, grid: Grid | None, writer: DigitWriter) -> Expression:
    """Numbers of an interval."""
    if interval.low is not None and interval.low == interval.high:
        return Text(decimal(interval.low)) if grid is None or grid.holds(interval.low) else NOTHING
    few = _few(interval, grid)
    if few is not None:
        return any_of(Text(decimal(value)) for value in few)
    with_zero = interval.holds(Fraction(0))
    parts: dict[Expression, list[Expression]] = {}
    for sign, signed in ((EMPTY, interval), (MINUS, interval.negated())):
        part = signed.from_zero(with_zero=with_zero)
        if not part.is_empty:
            parts.setdefault(_natural(part, grid, writer), []).append(sign)
    return any_of(
        concat_of(optional(MINUS) if len(signs) == 2 else signs[0], natural) for natural, signs in parts.items()
    )


def _few(interval: Interval, grid: Grid | None) -> list[Fraction] | None:
    """The numbers of an interval, if they are multiples of something and few."""
    if grid is None or grid.modulus == 1 or not grid.multiples or interval.low is None or interval.high is None:
        return None
    unit = Fraction(math.lcm(*grid.multiples), 10**grid.places)
    first, last = math.ceil(interval.low / unit), math.floor(interval.high / unit)
    if last - first >= FEW:
        return None
    values = (unit * factor for factor in range(first, last + 1))
    return [value for value in values if interval.holds(value) and grid.holds(value)]


def _natural(interval: Interval, grid: Grid | None, writer: DigitWriter) -> Expression:
    """Numbers of an interval that begins at 0 or later."""
    pieces = _pieces(interval)
    if grid is not None and grid.is_whole:
        pieces = [Piece(int(interval.low or 0), None if interval.high is None else int(interval.high), Tail(most=0))]
    elif grid is not None and grid.multiples:
        pieces = [piece.cut(0, None, grid.places) for piece in pieces]
    elif grid is not None:
        cuts = [(10**count // 10, 10**count - 1, EXACT_DIGITS - count) for count in range(2, EXACT_DIGITS)]
        cuts = [(0, 9, EXACT_DIGITS - 1), *cuts, (10**EXACT_DIGITS // 10, None, 0)]
        pieces = [piece.cut(*cut) for piece in pieces for cut in cuts]
    parts = [writer.between(one.low, one.high, one.tail) for one in pieces if one.high is None or one.low <= one.high]
    if grid is None:
        parts += [exponent for low, high, exponent in _exponents() if interval.holds(low) and interval.reaches(high)]
    return any_of(parts)


@dataclass(frozen=True)
class Piece:
    """Numbers with a whole part from ``low`` to ``high`` (None: no end), all of which end alike."""

    low: int
    high: int | None
    tail: Tail

    def cut(self, low: int, high: int | None, most: int) -> Piece:
        """What of it is in a range, with at most so many digits behind the point; perhaps empty."""
        ends = [end for end in (self.high, high) if end is not None]
        most = most if self.tail.most is None else min(most, self.tail.most)
        return Piece(max(low, self.low), min(ends) if ends else None, replace(self.tail, most=most))


def _pieces(interval: Interval) -> list[Piece]:
    """An interval that begins at 0 or later, in pieces whose numbers end alike.

    Where a bound itself is left out, what is close to it has no more digits than doubles tell apart.
    """
    assert interval.low is not None
    first, least = divmod(interval.low, 1)
    lower = Tail(
        low=_fraction_digits(least), low_open=interval.low_open, most=_exact(first) if interval.low_open else None
    )
    if interval.high is None:
        if lower == Tail(low=""):
            return [Piece(first, None, Tail())]
        return [Piece(first, first, lower), Piece(first + 1, None, Tail())]
    last, largest = divmod(interval.high, 1)
    upper = Tail(
        high=_fraction_digits(largest), high_open=interval.high_open, most=_exact(last) if interval.high_open else None
    )
    if interval.high_open and largest == 0:
        last, upper = last - 1, Tail(most=_exact(last - 1))
    if first == last:
        mosts = [one.most for one in (lower, upper) if one.most is not None]
        both = replace(upper, low=lower.low, low_open=lower.low_open, most=min(mosts) if mosts else None)
        return [Piece(first, last, both)]
    start = first if lower == Tail(low="") else first + 1
    return [Piece(first, start - 1, lower), Piece(start, last - 1, Tail()), Piece(last, last, upper)]


def _fraction_digits(fraction: Fraction) -> str:
    """Digits of a fraction, without zeros at the end."""
    return decimal(fraction)[2:]


def _exact(whole: int) -> int:
    """Digits behind the point that doubles keep, of numbers up to a whole one."""
    return max(EXACT_DIGITS - len(str(whole)), 0)


# --- without bounds ------------------------------------------------------------------------------


def _number() -> Expression:
    """Any number; what has an exponent of three digits begins with one digit, so that doubles hold it."""
    mark = concat_of(Chars(((ord("E"), ord("E")), (ord("e"), ord("e")))), optional(Chars(((43, 43), (45, 45)))))
    fraction = optional(concat_of(Text("."), repeat_of(DIGIT, 1, None)))
    usual = concat_of(_natural_number(), fraction, optional(concat_of(mark, repeat_of(DIGIT, 1, 2))))
    return concat_of(optional(MINUS), union_of(usual, concat_of(digits(range(1, 10)), fraction, mark, _hundreds())))


def _integer() -> Expression:
    return concat_of(optional(MINUS), _natural_number())


def _natural_number() -> Expression:
    return union_of(Text("0"), concat_of(digits(range(1, 10)), repeat_of(DIGIT, 0, None)))


def _hundreds() -> Expression:
    """Exponents of three digits, up to the largest that every number of one digit may have."""
    return union_of(concat_of(digits((1, 2)), repeat_of(DIGIT, 2, 2)), concat_of(Text("30"), digits(range(8))))


def _exponents() -> list[tuple[Fraction, Fraction | None, Expression]]:
    """Numbers as serializers write them with an exponent: larger than one bound, smaller than another."""
    mantissa = concat_of(digits(range(1, 10)), optional(concat_of(Text("."), repeat_of(DIGIT, 1, None))))
    tens = concat_of(digits(range(1, 10)), DIGIT)
    large_tens = union_of(concat_of(Text("1"), digits(range(6, 10))), concat_of(digits(range(2, 10)), DIGIT))
    small = concat_of(mantissa, Text("e-"), union_of(concat_of(Text("0"), digits(range(5, 10))), tens, _hundreds()))
    large = concat_of(mantissa, Text("e+"), union_of(large_tens, _hundreds()))
    return [(Fraction(1, 10**400), Fraction(1, 10**4), small), (Fraction(10**16), None, large)]
