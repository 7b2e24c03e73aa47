"""Which numbers are multiples of what, digit by digit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from kernelet.structured.schema.write.parts import UnwritableError

OFF: Final = -1
"""Residue of what is no multiple of anything, whatever follows."""

MAX_RESIDUES: Final = 240
"""That have to be told apart."""

MAX_MODULUS: Final = 100_000
"""Residues that are compared to see which of them are alike."""


@dataclass(frozen=True)
class Grid:
    """Multiples of numbers, read as the residue of the digits so far.

    A number with ``places`` digits behind the point, read as a whole one, is a multiple of each of ``multiples`` and of
    none of ``not_multiples``; ``modulus`` is a multiple of all of them.
    """

    places: int
    modulus: int
    multiples: tuple[int, ...]
    not_multiples: tuple[int, ...]

    @property
    def alike(self) -> Sequence[int]:
        """By residue of whole digits, the first one that the same further digits make a number of the grid."""
        if self.is_whole and len(self.multiples) == 1 and not self.not_multiples:
            return alike(self.modulus)
        return range(self.modulus_at(0))

    @property
    def is_whole(self) -> bool:
        """Whether its numbers are whole."""
        return self.places == 0 and bool(self.multiples)

    def modulus_at(self, place: int) -> int:
        """As much of the residue as matters after so many digits behind the point."""
        return self.modulus // math.gcd(self.modulus, 10 ** (self.places - place))

    def step(self, place: int, residue: int, digit: int) -> int | None:
        """The residue after one more digit, which is the ``place``th behind the point (0: before it); None: no way."""
        if residue == OFF:
            return OFF
        if place > self.places:
            return residue if digit == 0 else None if self.multiples else OFF
        return int((residue * 10 + digit) % self.modulus_at(place))

    def accepts(self, place: int, residue: int) -> bool:
        """Whether a number may end here."""
        if residue == OFF:
            return True
        value = residue * 10 ** max(self.places - place, 0)
        return all(value % one == 0 for one in self.multiples) and all(value % one for one in self.not_multiples)

    def holds(self, value: Fraction) -> bool:
        """Whether it is a number of the grid."""
        scaled = value * 10**self.places
        return all((scaled / one).denominator == 1 for one in self.multiples) and not any(
            (scaled / one).denominator == 1 for one in self.not_multiples
        )


def grid_of(multiples: tuple[Fraction, ...], not_multiples: tuple[Fraction, ...]) -> Grid | None:
    """The grid of these; None: nothing is asked.

    Raises:
        UnwritableError: too many residues.
    """
    if not multiples and not not_multiples:
        return None
    wanted = least_common(*multiples) if multiples else None
    others = {one if wanted is None else least_common(wanted, one) for one in not_multiples}
    others = {one for one in others if not any((one / other).denominator == 1 for other in others - {one})}
    places = max(map(decimal_places, others if wanted is None else [wanted]))
    scaled = [int(one * 10**places) for one in ([] if wanted is None else [wanted])]
    avoided = sorted(int(one * 10**places) for one in others)
    grid = Grid(places, math.lcm(*scaled, *avoided), tuple(scaled), tuple(avoided))
    if grid.modulus > MAX_MODULUS or max(_residues(grid)) > MAX_RESIDUES:
        given = ", ".join(decimal(one) for one in (*multiples, *not_multiples))
        raise UnwritableError(f"too many numbers have to be told apart to know multiples of {given}")
    return grid


def _residues(grid: Grid) -> Iterator[int]:
    """How many are told apart after so many places."""
    yield len(set(grid.alike))
    yield from map(grid.modulus_at, range(1, grid.places + 1))


@lru_cache(maxsize=8)  # strangers choose what is asked
def alike(modulus: int) -> tuple[int, ...]:
    """By residue, the first one that is made a multiple by the same further digits.

    Of so many digits that they are any number, that is decided by the residue behind as many zeros; of fewer ones, by
    the one number that they may be.
    """
    counts = range(len(str(modulus - 1)) if modulus > 1 else 0)
    first: dict[tuple[int, ...], int] = {}
    found = []
    for residue in range(modulus):
        wanted = [-residue * 10**count % modulus for count in counts]
        few = (one if one < 10**count else -1 for count, one in zip(counts, wanted, strict=True))
        found.append(first.setdefault((*few, residue * 10 ** len(counts) % modulus), residue))
    return tuple(found)


def least_common(*values: Fraction) -> Fraction:
    """The least number that is a multiple of each."""
    denominator = math.lcm(*(one.denominator for one in values))
    return Fraction(math.lcm(*(int(one * denominator) for one in values)), denominator)


def decimal_places(value: Fraction) -> int:
    """Digits behind the point that a number needs.

    Raises:
        UnwritableError: it has no end.
    """
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
        if places > 400:
            raise UnwritableError(f"{value} is no decimal number")
    return places


def decimal(value: Fraction) -> str:
    """A number in digits, without exponent."""
    places = decimal_places(value)
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if value < 0 else text
