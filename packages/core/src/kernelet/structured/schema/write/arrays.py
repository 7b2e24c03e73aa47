"""Arrays."""

from __future__ import annotations

import math
from typing import Final

from kernelet.contracts.structured import EMPTY, Expression, Rule
from kernelet.structured.expressions import concat_of, repeat_of, union_of
from kernelet.structured.schema.shapes import ArrayShape, Contained, NodeId
from kernelet.structured.schema.write.parts import NOTHING, UnwritableError, any_of, optional
from kernelet.structured.schema.write.scribe import Scribe

MAX_STATES: Final = 2000
"""Combinations of what an array holds so far that are told apart."""


def array(shape: ArrayShape, scribe: Scribe) -> Expression:
    """Every array of a shape.

    Raises:
        UnwritableError: too many combinations of items have to be told apart.
    """
    items = _in_order(shape, scribe) if shape.distinct is None else _distinct(shape, shape.distinct, scribe)
    is_needed = shape.min_items > 0 or (shape.contained is not None and shape.contained.minimum > 0)
    return scribe.marks.bracketed("[]", items, may_be_empty=not is_needed)


def _in_order(shape: ArrayShape, scribe: Scribe) -> Expression:
    """At least one item: those of ``prefix``, each only behind the one before, then further ones."""
    prefix = shape.prefix if shape.max_items is None else shape.prefix[: shape.max_items]
    further = _further(shape, len(prefix), scribe)
    needed = shape.min_items
    if shape.contained is not None and shape.contained.minimum:
        needed = max(needed, len(prefix) + 1)
    for index in range(len(prefix) - 1, 0, -1):
        further = concat_of(scribe.marks.comma, scribe.value(prefix[index]), further)
        further = further if index < needed else optional(further)
    return concat_of(scribe.value(prefix[0]), further) if prefix else further


def _further(shape: ArrayShape, before: int, scribe: Scribe) -> Expression:
    """The items behind so many of ``prefix``; behind none: at least one of them."""
    minimum = max(shape.min_items - before, 0)
    maximum = None if shape.max_items is None else shape.max_items - before
    if shape.contained is not None:
        return _contained(shape.contained, (minimum, maximum), has_prefix=before > 0, scribe=scribe)
    if shape.rest is None or maximum == 0:
        return EMPTY if before and not minimum else NOTHING
    item = scribe.value(shape.rest)
    following = concat_of(scribe.marks.comma, item)
    if before:
        return repeat_of(following, minimum, maximum)
    return concat_of(item, repeat_of(following, max(minimum - 1, 0), None if maximum is None else maximum - 1))


# --- items that are counted ----------------------------------------------------------------------


def _contained(kinds: Contained, length: tuple[int, int | None], *, has_prefix: bool, scribe: Scribe) -> Expression:
    """Items of two kinds, of which one is counted; without a prefix: at least one."""
    inside, outside = scribe.value(kinds.inside), scribe.value(kinds.outside)
    following = tuple(concat_of(scribe.marks.comma, item) for item in (inside, outside))
    minimum, maximum = length
    counted = _Counted(kinds, (0 if minimum <= kinds.minimum else minimum, maximum), following, scribe)
    if has_prefix:
        return counted.after(0, 0)
    if maximum == 0:
        return NOTHING
    first = [concat_of(outside, counted.after(1, 0))]
    if kinds.maximum != 0:
        first.insert(0, concat_of(inside, counted.after(1, 1)))
    return union_of(*first)


class _Counted:
    """What may follow, by the number of items so far and of those that count.

    Args:
        kinds: What counts, and how many of it.
        length: Bounds of the number of items.
        following: An item that counts and one that does not, each behind a comma.
        scribe: Writes.
    """

    def __init__(
        self, kinds: Contained, length: tuple[int, int | None], following: tuple[Expression, ...], scribe: Scribe
    ) -> None:
        self._least, self._most = kinds.minimum, kinds.maximum
        self._minimum, self._maximum = length
        self._inside, self._outside = following
        self._steps = self._minimum if self._maximum is None else self._maximum
        self._states: dict[tuple[int, int], Expression] = {}
        counts = self._steps + 1 if self._most is None else min(self._most, self._steps) + 1
        if (self._steps + 1) * counts > MAX_STATES:
            raise UnwritableError("counted items in an array of many lengths are too many cases")
        for total in range(self._steps, -1, -1):
            for count in range(min(total, counts - 1), -1, -1):
                state = self._state(total, count)
                is_small = state == EMPTY or isinstance(state, Rule)
                self._states[total, count] = state if is_small else scribe.rules.add(state, "items")

    def after(self, total: int, count: int) -> Expression:
        """What may follow so many items."""
        if self._maximum is None and total >= self._steps:
            return self._unbounded(count)
        return self._states.get((total, count), NOTHING)

    def _state(self, total: int, count: int) -> Expression:
        if self._maximum is None and total == self._steps:
            return self._unbounded(count)
        if self._maximum is not None and self._least - count > self._maximum - total:
            return NOTHING
        ways = []
        if total < self._steps:
            if self._most is None or count < self._most:
                ways.append(concat_of(self._inside, self.after(total + 1, count + 1)))
            ways.append(concat_of(self._outside, self.after(total + 1, count)))
        may_end = total >= self._minimum and count >= self._least
        return optional(any_of(ways)) if may_end else any_of(ways)

    def _unbounded(self, count: int) -> Expression:
        """What may follow where there may be any number of items."""
        others = repeat_of(self._outside, 0, None)
        one = concat_of(others, self._inside)
        needed = max(self._least - count, 0)
        if self._most is not None:
            room = self._most - count
            return NOTHING if room < needed else concat_of(repeat_of(one, needed, room), others)
        return concat_of(repeat_of(one, needed, needed), repeat_of(union_of(self._inside, self._outside), 0, None))


# --- items that differ ---------------------------------------------------------------------------


def _distinct(shape: ArrayShape, nodes: tuple[NodeId, ...], scribe: Scribe) -> Expression:
    """At least one item, each of one node that no other has."""
    most = len(nodes) if shape.max_items is None else min(shape.max_items, len(nodes))
    states = sum(math.comb(len(nodes), size) for size in range(most + 1))
    if states * len(nodes) > 10 * MAX_STATES:
        raise UnwritableError(f"up to {most} different ones of {len(nodes)} items are too many cases")
    if most < max(shape.min_items, 1):
        return NOTHING
    values = [scribe.value(node) for node in nodes]
    known: dict[frozenset[int], Rule] = {}

    def further(used: frozenset[int]) -> Expression:
        if len(used) == most:
            return EMPTY
        if used not in known:
            comma = scribe.marks.comma if used else EMPTY
            known[used] = scribe.rules.add(
                any_of(
                    concat_of(comma, value, further(used | {index}))
                    for index, value in enumerate(values)
                    if index not in used
                ),
                "different",
            )
        return known[used] if len(used) < max(shape.min_items, 1) else optional(known[used])

    return further(frozenset())
