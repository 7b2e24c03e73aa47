"""Expressions with anchors: what they match, and whether only at the start or the end of the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from kernelet.structured.automata.syntax import (
    EPSILON,
    EVERYTHING,
    NOTHING,
    Concat,
    Regex,
    Repeat,
    concat,
    repeat,
    union,
)

_MAX_COPIES: Final = 8


@dataclass(frozen=True, kw_only=True)
class Anchored:
    """Four languages.

    Attributes:
        free: Matches wherever it stands.
        start: Matches only where the text starts.
        end: Matches only such that the text ends behind it.
        whole: Matches only where it is all of the text.
    """

    free: Regex = NOTHING
    start: Regex = NOTHING
    end: Regex = NOTHING
    whole: Regex = NOTHING

    @property
    def is_free(self) -> bool:
        """There is no anchor in it."""
        return self.start == self.end == self.whole == NOTHING

    def searched(self) -> Regex:
        """The texts in which it is found."""
        return union(
            concat(EVERYTHING, _least(_least(self.free, -1), 0), EVERYTHING),
            concat(_least(self.start, -1), EVERYTHING),
            concat(EVERYTHING, _least(self.end, 0)),
            self.whole,
        )

    def matched(self) -> Regex:
        """The texts that it matches from start to end."""
        return union(self.free, self.start, self.end, self.whole)


START: Final = Anchored(start=EPSILON)
END: Final = Anchored(end=EPSILON)


def _least(regex: Regex, edge: int) -> Regex:
    """What is as good beside any text, before (edge 0) or behind it (-1): ``a+`` is no more than ``a`` there."""
    if isinstance(regex, Repeat):
        regex = repeat(regex.part, regex.minimum, regex.minimum)
    elif isinstance(regex, Concat) and regex.parts:
        least = _least(regex.parts[edge], edge)
        if least != regex.parts[edge]:
            regex = concat(*regex.parts[:-1], least) if edge else concat(least, *regex.parts[1:])
            regex = _least(regex, edge)
    return regex


def _empty(regex: Regex) -> Regex:
    return EPSILON if regex.facts.nullable else NOTHING


def _two(left: Anchored, right: Anchored) -> Anchored:
    if left.is_free and right.is_free:
        return Anchored(free=concat(left.free, right.free))
    # what is at the end has nothing behind it, what is at the start nothing before it
    nothing_before, start_before = _empty(left.free), _empty(left.start)
    end_before, whole_before = _empty(left.end), _empty(left.whole)
    nothing_after, start_after = _empty(right.free), _empty(right.start)
    end_after, whole_after = _empty(right.end), _empty(right.whole)
    before = union(nothing_before, start_before)
    after = union(nothing_after, end_after)
    wholly_empty = union(
        concat(union(end_before, whole_before), union(start_after, whole_after)),
    )
    return Anchored(
        free=concat(left.free, right.free),
        start=union(concat(left.start, right.free), concat(before, right.start)),
        end=union(concat(left.free, right.end), concat(left.end, after)),
        whole=union(
            concat(left.start, right.end), concat(before, right.whole), concat(left.whole, after), wholly_empty
        ),
    )


def sequence(parts: Sequence[Anchored]) -> Anchored:
    """One after the other."""
    runs: list[Anchored] = []
    free: list[Regex] = []
    for part in parts:
        if part.is_free:
            free.append(part.free)
            continue
        if free:
            runs.append(Anchored(free=concat(*free)))
        runs.append(part)
        free = []
    runs.append(Anchored(free=concat(*free)))
    while len(runs) > 1:
        runs = [reduce(_two, runs[i : i + 2]) for i in range(0, len(runs), 2)]
    return runs[0]


def choice(parts: Sequence[Anchored]) -> Anchored:
    """Any of these."""
    return Anchored(
        free=union(*(part.free for part in parts)),
        start=union(*(part.start for part in parts)),
        end=union(*(part.end for part in parts)),
        whole=union(*(part.whole for part in parts)),
    )


def times(part: Anchored, minimum: int, maximum: int | None) -> Anchored | None:
    """So many times; None: anchors would have to be copied too often."""
    if part.is_free:
        return Anchored(free=repeat(part.free, minimum, maximum))
    if maximum == 0:
        return Anchored(free=EPSILON)
    if minimum > _MAX_COPIES:
        return None
    more = _up_to(part, None if maximum is None else maximum - minimum)
    return sequence([part] * minimum + [more])


def _up_to(part: Anchored, maximum: int | None) -> Anchored:
    """From no time to so many: what matches the empty text need not be there."""

    def free(fewer: int) -> Regex:
        left = None if maximum is None else maximum - fewer
        return NOTHING if left is not None and left < 0 else repeat(part.free, 0, left)

    return Anchored(
        free=free(0),
        start=concat(part.start, free(1)),
        end=concat(free(1), part.end),
        whole=union(concat(part.start, free(2), part.end), part.whole if maximum != 0 else NOTHING),
    )
