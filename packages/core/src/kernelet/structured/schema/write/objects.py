"""Objects."""

from __future__ import annotations

from typing import Final

from kernelet.contracts.grammar import EMPTY, Expression, Rule
from kernelet.structured.expressions import concat_of, repeat_of
from kernelet.structured.schema.shapes import ObjectShape
from kernelet.structured.schema.write.parts import NOTHING, UnwritableError, any_of, optional
from kernelet.structured.schema.write.scribe import Scribe
from kernelet.structured.schema.write.strings import name_in
from kernelet.structured.schema.write.text import quoted

MAX_STATES: Final = 5000
"""Places in an object, by what is behind them, that are told apart."""

State = tuple[int, int]
"""The next of the properties with a name, and how many there are before it, as far as that matters."""


def object_(shape: ObjectShape, scribe: Scribe) -> Expression:
    """Every object of a shape, its properties in the shape's order.

    Raises:
        UnwritableError: too many combinations of properties have to be told apart.
    """
    members = _Members(shape, scribe)
    return scribe.marks.bracketed("{}", members.write(), may_be_empty=members.may_be_empty)


class _Members:
    """What stands between the braces: one expression for each state, written from the last on.

    A property is optional without that the commas of others are written twice: behind some property each further one
    brings its comma, and before the first one it is said for each which are left out.
    """

    def __init__(self, shape: ObjectShape, scribe: Scribe) -> None:
        self._shape = shape
        self._scribe = scribe
        required = sum(one.required for one in shape.properties)
        named = len(shape.properties)
        self._least = shape.min_properties if shape.min_properties > required else 0
        self._most = shape.max_properties
        if not shape.others and self._most is not None and self._most >= named:
            self._most = None
        if shape.others and self._least > 1:
            raise UnwritableError("nobody can tell here whether so many names differ")
        self.may_be_empty = self._least == 0 and required == 0
        self._cap = max(self._least, 1) if self._most is None else max(self._most, 1)
        self._cap = min(self._cap, named + 1)
        if (named + 1) * (self._cap + 1) > MAX_STATES:
            raise UnwritableError("a number of properties among so many is too many cases")
        self._states: dict[State, Expression] = {}
        self._other = scribe.rules.add(
            any_of(
                concat_of(name_in(one.keys, scribe), scribe.marks.colon, scribe.value(one.node)) for one in shape.others
            ),
            "other",
        )

    def write(self) -> Expression:
        """At least one property."""
        if self._most == 0:
            return NOTHING
        uses = self._uses()
        pairs = self._pairs(uses)
        for state in sorted(uses, reverse=True):
            written = self._state(state, pairs)
            is_small = written in (EMPTY, NOTHING) or isinstance(written, Rule)
            shared = uses[state] > 1 and state[1] > 0 and not is_small
            self._states[state] = self._scribe.rules.add(written, "members") if shared else written
        return self._states[0, 0]

    def _uses(self) -> dict[State, int]:
        """How often each state is named by others."""
        uses: dict[State, int] = {(0, 0): 1}
        for index, one in enumerate(self._shape.properties):
            for count in range(self._cap + 1):
                if (index, count) in uses:
                    after = {(index + 1, self._more(count))} if self._may_have(count) else set()
                    if not one.required:
                        after.add((index + 1, count))
                    for state in after:
                        uses[state] = uses.get(state, 0) + 1
        return uses

    def _more(self, count: int) -> int:
        return min(count + 1, self._cap)

    def _may_have(self, count: int) -> bool:
        """Whether one more fits."""
        return self._most is None or count < self._most

    def _pairs(self, uses: dict[State, int]) -> list[Expression]:
        """The properties with a name; rules where they are written more than once."""
        found = []
        for index, one in enumerate(self._shape.properties):
            pair = concat_of(quoted(one.name), self._scribe.marks.colon, self._scribe.value(one.node))
            places = sum((index, count) in uses for count in range(self._cap + 1))
            found.append(self._scribe.rules.add(pair, one.name) if places > 1 else pair)
        return found

    def _state(self, state: State, pairs: list[Expression]) -> Expression:
        index, count = state
        if index == len(pairs):
            return self._others(count)
        pair = concat_of(self._scribe.marks.comma if count else EMPTY, pairs[index])
        is_required = self._shape.properties[index].required
        with_it = self._states[index + 1, self._more(count)] if self._may_have(count) else NOTHING
        if is_required:
            return concat_of(pair, with_it)
        if count and self._more(count) == count and self._may_have(count):
            return concat_of(optional(pair), with_it)
        return any_of([concat_of(pair, with_it), self._states[index + 1, count]])

    def _others(self, count: int) -> Expression:
        """The properties without a name of their own, behind so many others."""
        needed = max(self._least - count, 0)
        room = None if self._most is None else max(self._most - count, 0)
        if not self._shape.others:
            return EMPTY if count and not needed else NOTHING
        following = concat_of(self._scribe.marks.comma, self._other)
        if count:
            return repeat_of(following, needed, room)
        return concat_of(self._other, repeat_of(following, 0, None if room is None else room - 1))
