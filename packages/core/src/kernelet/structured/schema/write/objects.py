"""Objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from kernelet.contracts.structured import EMPTY, Expression, Rule
from kernelet.structured.expressions import concat_of, repeat_of
from kernelet.structured.schema.shapes import ObjectShape, Property
from kernelet.structured.schema.write.parts import NOTHING, UnwritableError, any_of, optional
from kernelet.structured.schema.write.scribe import Scribe
from kernelet.structured.schema.write.strings import name_in
from kernelet.structured.schema.write.text import quoted

MAX_STATES: Final = 5000
"""Places in an object, by what is behind them, that are told apart."""

MAX_ANYWHERE: Final = 4
"""Properties that are written in any order."""


@dataclass(frozen=True, order=True)
class State:
    """What has been written.

    Attributes:
        index: The next of the properties that have a place.
        found: Bits of the properties without a place that are there.
        count: How many properties, as far as that matters.
    """

    index: int
    found: int
    count: int


START: Final = State(0, 0, 0)


def object_(shape: ObjectShape, scribe: Scribe) -> Expression:
    """Every object of a shape, its properties in the shape's order.

    Raises:
        UnwritableError: too many combinations of properties have to be told apart.
    """
    members = _Members(shape, scribe)
    return scribe.marks.bracketed("{}", members.write(), may_be_empty=members.may_be_empty)


class _Members:
    """What stands between the braces: one expression for each state, written from the last on.

    A first property has no comma, all further ones bring theirs: what may follow behind some property is said once.
    """

    def __init__(self, shape: ObjectShape, scribe: Scribe) -> None:
        self._scribe = scribe
        anywhere = [one for one in shape.properties if not one.has_place]
        if len(anywhere) > MAX_ANYWHERE:
            anywhere = []
        self._anywhere = anywhere
        self._placed = [one for one in shape.properties if one not in anywhere]
        required = sum(one.required for one in shape.properties)
        named = len(shape.properties)
        self._least = shape.min_properties if shape.min_properties > required else 0
        self._most = shape.max_properties
        if not shape.others and self._most is not None and self._most >= named:
            self._most = None
        if shape.others and self._least > required + 1:
            raise UnwritableError("nobody can tell whether so many names that are not given differ")
        self.may_be_empty = self._least == 0 and required == 0
        self._cap = min(max(self._least, 1) if self._most is None else max(self._most, 1), named + 1)
        if (named + 1) * (self._cap + 1) > MAX_STATES:
            raise UnwritableError("a number of properties among so many is too many cases")
        other = any_of(
            concat_of(name_in(one.keys, scribe), scribe.marks.colon, scribe.value(one.node)) for one in shape.others
        )
        self._other = scribe.rules.add(other, "other") if shape.others else None
        self._states: dict[State, Expression] = {}

    def write(self) -> Expression:
        """At least one property."""
        if self._most == 0:
            return NOTHING
        uses = self._uses()
        pairs = self._pairs(uses)
        for state in sorted(uses, reverse=True):
            written = self._state(state, pairs)
            is_small = written in (EMPTY, NOTHING) or isinstance(written, Rule)
            shared = uses[state] > 1 and state.count > 0 and not is_small
            self._states[state] = self._scribe.rules.add(written, "members") if shared else written
        return self._states[START]

    def _moves(self, state: State) -> Iterator[tuple[Property | None, State]]:
        """What may come next, and where it leads; None: nothing, for a property that is left out."""
        count = min(state.count + 1, self._cap)
        may_have = self._most is None or state.count < self._most
        if state.index < len(self._placed):
            one = self._placed[state.index]
            if may_have:
                yield one, replace(state, index=state.index + 1, count=count)
            if not one.required:
                yield None, replace(state, index=state.index + 1)
        elif may_have:
            for place, one in enumerate(self._anywhere):
                if not state.found >> place & 1:
                    yield one, replace(state, found=state.found | 1 << place, count=count)

    def _uses(self) -> dict[State, int]:
        """How often each state is named by others."""
        uses = {START: 1}
        for state in (waiting := [START]):
            for after in {after for _, after in self._moves(state)}:
                if after not in uses:
                    waiting.append(after)
                uses[after] = uses.get(after, 0) + 1
        return uses

    def _pairs(self, uses: dict[State, int]) -> dict[str, Expression]:
        """The properties with a name; rules where they are written more than once."""
        named = [one.name for state in uses for one, _ in self._moves(state) if one is not None]
        found: dict[str, Expression] = {}
        for one in (*self._placed, *self._anywhere):
            pair = concat_of(quoted(one.name), self._scribe.marks.colon, self._scribe.value(one.node))
            found[one.name] = self._scribe.rules.add(pair, one.name) if named.count(one.name) > 1 else pair
        return found

    def _state(self, state: State, pairs: dict[str, Expression]) -> Expression:
        comma = self._scribe.marks.comma if state.count else EMPTY
        moves = list(self._moves(state))
        if len({after for _, after in moves}) < len(moves):  # left out or not, it goes on in one way
            return concat_of(
                optional(concat_of(comma, *(pairs[one.name] for one, _ in moves if one))), self._states[moves[0][1]]
            )
        ways = [
            concat_of(comma, pairs[one.name], self._states[after]) if one else self._states[after]
            for one, after in moves
        ]
        missing = [one for place, one in enumerate(self._anywhere) if one.required and not state.found >> place & 1]
        if state.index == len(self._placed) and not missing:
            ways.append(self._others(state.count))
        return any_of(ways)

    def _others(self, count: int) -> Expression:
        """The properties without a name of their own, behind so many others."""
        needed = max(self._least - count, 0)
        room = None if self._most is None else max(self._most - count, 0)
        if self._other is None:
            return EMPTY if count and not needed else NOTHING
        following = concat_of(self._scribe.marks.comma, self._other)
        if count:
            return repeat_of(following, needed, room)
        return concat_of(self._other, repeat_of(following, 0, None if room is None else room - 1))
