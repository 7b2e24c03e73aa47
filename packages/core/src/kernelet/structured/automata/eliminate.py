"""Deterministic automata, written as expressions.

What a state accepts is written after what the states accept that it leads to. Where states lead to each other in a
circle all but one are eliminated; where that gets long, or an expression is needed in several places, it gets a name.
"""

from __future__ import annotations

from typing import Final, Protocol

from kernelet.structured.automata import alphabet
from kernelet.structured.automata.budget import TooLargeError
from kernelet.structured.automata.dfa import Dfa
from kernelet.structured.automata.syntax import EPSILON, NOTHING, Named, Regex, chars, concat, repeat, union
from kernelet.structured.components import components

_LARGE: Final = 8
"""An expression of this size that is needed twice gets a name."""
_DEEP: Final = 24
_MAX_CIRCLE: Final = 40
_MAX_SIZE: Final = 600
"""States of a circle and size of an expression for one up to which states are eliminated."""
_MAX_UNNAMED: Final = 20_000


class Names(Protocol):
    """Where expressions get names."""

    def reserve(self, *, nullable: bool) -> Named:
        """A new name, for a language that has the empty text or not."""

    def define(self, name: Named, regex: Regex) -> None:
        """What the name stands for."""


def regex_of(dfa: Dfa, names: Names | None) -> Regex:
    """An expression for the language; without ``names`` it has no names in it.

    Raises:
        TooLargeError: it gets too large.
    """
    return _Writer(dfa, names).write()


class _Writer:
    def __init__(self, dfa: Dfa, names: Names | None) -> None:
        self._dfa = dfa
        self._names = names
        self._classes: dict[tuple[int, ...], Regex] = {}
        self._moves = [self._grouped(moves) for moves in dfa.moves]
        self._uses = [0] * len(dfa.moves)
        for moves in self._moves:
            for target in moves:
                self._uses[target] += 1
        self._known: dict[int, Regex] = {}

    def _grouped(self, moves: dict[int, int]) -> dict[int, Regex]:
        """For each state that is led to, the characters that do."""
        sets: dict[int, list[int]] = {}
        for symbol, target in moves.items():
            sets.setdefault(target, []).append(symbol)
        return {target: self._class(tuple(sorted(symbols))) for target, symbols in sets.items()}

    def _class(self, symbols: tuple[int, ...]) -> Regex:
        if symbols not in self._classes:
            self._classes[symbols] = chars(alphabet.unite(self._dfa.classes[symbol] for symbol in symbols))
        return self._classes[symbols]

    def write(self) -> Regex:
        graph = {state: list(moves) for state, moves in enumerate(self._moves)}
        found = components(graph)
        home = {state: number for number, component in enumerate(found) for state in component}
        entries: dict[int, None] = {0: None}
        for state, moves in enumerate(self._moves):
            entries |= {target: None for target in moves if home[target] != home[state]}
        for component in found:
            self._write_component(component, [state for state in component if state in entries])
        return self._known[0]

    def _write_component(self, component: list[int], entries: list[int]) -> None:
        if len(component) == 1:
            (state,) = component
            loop = self._moves[state].get(state, NOTHING)
            self._know(state, concat(repeat(loop, 0, None), self._outside(state, set(component))))
            return
        solved = None
        if len(component) <= _MAX_CIRCLE and (len(entries) <= 3 or self._names is None):
            solved = [self._eliminated(component, entry) for entry in entries]
        if solved is not None and all(each is not None for each in solved):
            for entry, each in zip(entries, solved, strict=True):
                self._know(entry, each or NOTHING)
        else:
            self._write_linear(component)

    def _outside(self, state: int, component: set[int]) -> Regex:
        """What the state accepts by leaving its component, or staying where it is."""
        leaving = [
            concat(by, self._known[target]) for target, by in self._moves[state].items() if target not in component
        ]
        return union(EPSILON if state in self._dfa.accepting else NOTHING, *leaving)

    def _know(self, state: int, regex: Regex) -> None:
        shared = self._uses[state] > 1 and regex.facts.size > _LARGE
        if self._names is not None and (shared or regex.facts.depth > _DEEP or regex.facts.size > _MAX_SIZE):
            name = self._names.reserve(nullable=regex.facts.nullable)
            self._names.define(name, regex)
            regex = name
        elif regex.facts.size > _MAX_UNNAMED:
            raise TooLargeError("conditions on one text cannot be joined to an expression of a sensible size")
        self._known[state] = regex

    def _eliminated(self, component: list[int], entry: int) -> Regex | None:
        """What a state accepts, with all others of its component eliminated; None: that gets long."""
        inside = set(component)
        edges = {
            state: {target: by for target, by in self._moves[state].items() if target in inside} for state in component
        }
        leaving = {state: self._outside(state, inside) for state in component}
        while len(edges) > 1:
            state = min((each for each in edges if each != entry), key=lambda each: _cost(each, edges, leaving))
            loop = repeat(edges[state].pop(state, NOTHING), 0, None)
            following, last = edges.pop(state), leaving.pop(state)
            for source, moves in edges.items():
                before = moves.pop(state, None)
                if before is None:
                    continue
                before = concat(before, loop)
                leaving[source] = union(leaving[source], concat(before, last))
                for target, by in following.items():
                    moves[target] = union(moves.get(target, NOTHING), concat(before, by))
                longest = max(each.facts.size for each in (leaving[source], *moves.values()))
                if longest > (_MAX_SIZE if self._names is not None else _MAX_UNNAMED):
                    return None
        return concat(repeat(edges[entry].get(entry, NOTHING), 0, None), leaving[entry])

    def _write_linear(self, component: list[int]) -> None:
        """Rules for all states, each of which names those that it leads to."""
        if self._names is None:
            raise TooLargeError("conditions on one text cannot be joined to an expression of a sensible size")
        inside = set(component)
        own = {state: self._names.reserve(nullable=state in self._dfa.accepting) for state in component}
        for state in component:
            staying = [concat(by, own[target]) for target, by in self._moves[state].items() if target in inside]
            self._names.define(own[state], union(self._outside(state, inside), *staying))
        self._known |= own


def _cost(state: int, edges: dict[int, dict[int, Regex]], leaving: dict[int, Regex]) -> int:
    """How much longer the rest gets when the state is eliminated."""
    after = [by.facts.size for target, by in edges[state].items() if target != state]
    if leaving[state] != NOTHING:
        after.append(leaving[state].facts.size)
    before = [moves[state].facts.size for source, moves in edges.items() if state in moves and source != state]
    loop = edges[state][state].facts.size if state in edges[state] else 0
    return sum(before) * (len(after) - 1) + sum(after) * (len(before) - 1) + loop * (len(before) * len(after) - 1)
