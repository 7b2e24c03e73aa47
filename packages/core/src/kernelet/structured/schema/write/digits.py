"""Digits of numbers between bounds, on a grid or free."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from kernelet.contracts.structured import EMPTY, Expression, Rule, Text
from kernelet.structured.expressions import concat_of, repeat_of
from kernelet.structured.rules import RuleWriter
from kernelet.structured.schema.write.grid import OFF, Grid
from kernelet.structured.schema.write.parts import DIGIT, NOTHING, UnwritableError, any_of, digits, optional

MAX_STEPS: Final = 5000
MAX_BOUND: Final = 40
"""Digits of a bound."""

MAX_SUFFIX: Final = 3
"""Digits at the end that decide alone whether a number is a multiple."""


@dataclass(frozen=True)
class Tail:
    """What may stand behind the whole part.

    Attributes:
        low: Digits of the least fraction, without zeros at the end; None: no bound.
        high: Digits of the largest.
        low_open: ``low`` itself is left out.
        high_open: ``high`` itself is left out.
        most: Digits at most; None: any number.
    """

    low: str | None = None
    high: str | None = None
    low_open: bool = False
    high_open: bool = False
    most: int | None = None

    def after(self, digit: int) -> Tail | None:
        """What may stand behind a digit of the fraction; None: not this digit."""
        low, high = self.low, self.high
        if low is not None:
            least = int(low[:1] or "0")
            if digit < least:
                return None
            low = low[1:] if digit == least else None
        if high is not None:
            largest = int(high[:1] or "0")
            if digit > largest:
                return None
            high = high[1:] if digit == largest else None
        if low == "" and not self.low_open:
            low = None
        most = None if self.most is None else self.most - 1
        return replace(self, low=low, high=high, most=most)

    @property
    def may_end(self) -> bool:
        """Whether no further digits are a fraction of it."""
        return (not self.low if not self.low_open else self.low is None) and (self.high != "" or not self.high_open)


class DigitWriter:
    """Writes numbers without sign.

    Args:
        grid: What they are multiples of; None: anything.
        rules: Gets the rules of what comes more than once.
    """

    def __init__(self, grid: Grid | None, rules: RuleWriter) -> None:
        self._grid = grid or Grid(0, 1, (), ())
        self._is_free = grid is None
        self._modulus = self._grid.modulus_at(0)
        self._alike = self._grid.alike
        self._writer = rules
        self._rules: dict[object, Rule] = {}
        self._steps = 0

    def between(self, low: int, high: int | None, tail: Tail) -> Expression:
        """Numbers whose whole part is in a range (None: no end), each with an end of ``tail``.

        Raises:
            UnwritableError: there are too many cases.
        """
        if max(low, high or 0) >= 10**MAX_BOUND:
            raise UnwritableError(f"a bound has more than {MAX_BOUND} digits before the point")
        parts = [concat_of(Text("0"), self._after(0, tail))] if low == 0 else []
        low = max(low, 1)
        first, last = len(str(low)), None if high is None else len(str(high))
        if high is None or low <= high:
            if low > 10 ** (first - 1) or first == last:
                parts.append(self._whole(first, 0, str(low), str(high) if first == last else None, tail))
                first += 1
            if high is not None and last is not None and first <= last and high < 10**last - 1:
                parts.append(self._whole(last, 0, str(10 ** (last - 1)), str(high), tail))
                last -= 1
            parts += self._lengths(first, last, tail)
        return concat_of(any_of(parts), self._end(0, tail) if self._modulus == 1 else EMPTY)

    def _lengths(self, first: int, last: int | None, tail: Tail) -> list[Expression]:
        """Numbers of so many digits, the first of which is not 0."""
        if last is not None and first > last:
            return []
        if self._modulus == 1:
            return [concat_of(digits(range(1, 10)), repeat_of(DIGIT, first - 1, None if last is None else last - 1))]
        if last is not None:
            return [self._whole(count, 0, str(10 ** (count - 1)), None, tail) for count in range(first, last + 1)]
        ways = self._by_residue(0, range(1, 10))
        return [concat_of(digits(found), self._longer(after, first - 1, tail)) for after, found in ways.items()]

    def _after(self, residue: int, tail: Tail) -> Expression:
        """What follows the whole part, unless it is the same for all."""
        if self._modulus == 1:
            return EMPTY
        return self._shared(("end", residue, tail), lambda: self._end(residue, tail))

    def _by_residue(self, residue: int, choice: range) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for digit in choice:
            found.setdefault(self._further(residue, digit), []).append(digit)
        return found

    def _further(self, residue: int, digit: int) -> int:
        return self._alike[(residue * 10 + digit) % self._modulus]

    def _whole(self, count: int, residue: int, low: str | None, high: str | None, tail: Tail) -> Expression:
        """So many further digits, from ``low`` to ``high`` (None: no bound), and what follows."""
        self._step()
        if count == 0:
            return self._after(residue, tail)
        if low is None and high is None:
            return self._free(count, residue, tail)
        ways: dict[tuple[str | None, str | None, int], list[int]] = {}
        least, largest = int(low[0]) if low else 0, int(high[0]) if high else 9
        for digit in range(least, largest + 1):
            lower = low[1:] if low and digit == least else ""
            upper = high[1:] if high and digit == largest else ""
            way = (
                lower if lower.strip("0") else None,
                upper if upper.strip("9") else None,
                self._further(residue, digit),
            )
            ways.setdefault(way, []).append(digit)
        return any_of(
            concat_of(digits(found), self._whole(count - 1, after, at_least, at_most, tail))
            for (at_least, at_most, after), found in ways.items()
        )

    def _free(self, count: int, residue: int, tail: Tail) -> Expression:
        """So many further digits, and what follows."""
        if self._modulus == 1:
            return repeat_of(DIGIT, count, count)
        suffix = self._suffix()
        if suffix is not None and count > suffix:
            return concat_of(repeat_of(DIGIT, count - suffix, count - suffix), self._free(suffix, 0, tail))

        def write() -> Expression:
            ways = self._by_residue(residue, range(10))
            return any_of(
                concat_of(digits(found), self._whole(count - 1, after, None, None, tail))
                for after, found in ways.items()
            )

        return write() if suffix is not None else self._shared(("free", count, residue, tail), write)

    def _longer(self, residue: int, minimum: int, tail: Tail) -> Expression:
        """So many further digits or more, and what follows."""
        self._step()
        if self._modulus == 1:
            return repeat_of(DIGIT, minimum, None)
        suffix = self._suffix()
        if suffix is not None:
            few = [self._whole(count, residue, None, None, tail) for count in range(minimum, suffix)]
            return any_of(
                [
                    *few,
                    concat_of(
                        repeat_of(DIGIT, max(minimum - suffix, 0), None), self._whole(suffix, 0, None, None, tail)
                    ),
                ]
            )

        def write() -> Expression:
            ways = self._by_residue(residue, range(10))
            further = (
                concat_of(digits(found), self._longer(after, max(minimum - 1, 0), tail))
                for after, found in ways.items()
            )
            return any_of([*further, self._after(residue, tail)] if minimum == 0 else further)

        return self._shared(("longer", residue, minimum, tail), write)

    def _suffix(self) -> int | None:
        """How many digits at the end decide which residue a number has; None: all of them."""
        return next((count for count in range(1, MAX_SUFFIX + 1) if 10**count % self._modulus == 0), None)

    def _shared(self, key: object, write: Callable[[], Expression]) -> Rule:
        """A rule that is written once."""
        if key not in self._rules:
            self._rules[key] = self._writer.reserve("digits")
            self._writer.define(self._rules[key], write())
        return self._rules[key]

    def _end(self, residue: int, tail: Tail) -> Expression:
        """The point and a fraction, or nothing."""
        tail = replace(tail, low=None) if tail.low == "" and not tail.low_open else tail
        if tail.most == 0:
            return EMPTY if tail.may_end and self._grid.accepts(0, residue) else NOTHING
        point = concat_of(Text("."), self._fraction(1, residue, tail))
        if tail.may_end and self._grid.accepts(0, residue):
            return optional(point)
        return point

    def _fraction(self, place: int, residue: int, tail: Tail) -> Expression:
        """At least one further digit of a fraction, the first at ``place``."""
        self._step()
        if tail.most == 0:
            return NOTHING
        if tail.low is None and tail.high is None and (self._is_free or residue == OFF):
            return repeat_of(DIGIT, 1, tail.most)
        if tail.high == "":
            ends = tail.low is None and not tail.high_open and self._grid.accepts(place - 1, residue)
            return repeat_of(Text("0"), 1, tail.most) if ends else NOTHING
        ways: dict[tuple[int, Tail], list[int]] = {}
        for digit in range(10):
            after, further = self._grid.step(place, residue, digit), tail.after(digit)
            if self._is_free:
                after = 0
            if after is not None and further is not None:
                ways.setdefault((after, further), []).append(digit)
        parts = []
        for (after, further), found in ways.items():
            more = self._fraction(place + 1, after, further)
            if further.may_end and self._grid.accepts(place, after):
                more = optional(more)
            parts.append(concat_of(digits(found), more))
        return any_of(parts)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise UnwritableError("the numbers that are allowed are too many cases")
