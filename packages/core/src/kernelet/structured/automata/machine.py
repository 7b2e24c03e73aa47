"""Automata of whole expressions, whose states are found as they are needed."""

from __future__ import annotations

from typing import Any, Protocol

from kernelet.structured.automata import alphabet
from kernelet.structured.automata.alphabet import Ranges
from kernelet.structured.automata.budget import Budget
from kernelet.structured.automata.nfa import Nfa
from kernelet.structured.automata.syntax import Both, Complement, Regex

State = Any
"""What a part keeps: hashable. None: no text leads to acceptance from here."""


class _Part(Protocol):
    def start(self) -> State: ...
    def accepts(self, state: State) -> bool: ...
    def moves(self, state: State) -> dict[int, State]: ...


class Machine:
    """The automaton of an expression.

    Attributes:
        classes: Characters that it does not tell apart, by number; they cover all characters.
    """

    def __init__(self, regex: Regex, budget: Budget) -> None:
        sets: dict[Ranges, int] = {}
        self._part = _part_of(regex, sets, budget, self)
        self.classes, self.consists = alphabet.partition(list(sets))
        whole = sets.get(alphabet.ALL)
        self.all_set = -1 if whole is None else whole
        self.start = self._part.start()
        self.accepts = self._part.accepts
        self._budget = budget

    def moves(self, state: State) -> dict[int, State]:
        """Where each class of characters leads to; what leads nowhere is left out."""
        moves = self._part.moves(state)
        self._budget.spend(len(moves) + 1)
        return moves

    def class_of(self, character: str) -> int | None:
        """The number of the character's class; None: it is a surrogate."""
        code = ord(character)
        found = (number for number, ranges in enumerate(self.classes) if alphabet.contains(ranges, code))
        return next(found, None)


def _part_of(regex: Regex, sets: dict[Ranges, int], budget: Budget, machine: Machine) -> _Part:
    if isinstance(regex, Both):
        return _All([_part_of(part, sets, budget, machine) for part in regex.parts])
    if isinstance(regex, Complement):
        return _Not(_part_of(regex.part, sets, budget, machine), machine)
    return _Plain(Nfa(regex, sets, budget), budget, machine)


class _Plain:
    """States are sets of those of the automaton below."""

    def __init__(self, nfa: Nfa, budget: Budget, machine: Machine) -> None:
        self._nfa = nfa
        self._budget = budget
        self._machine = machine
        self._known: dict[frozenset[int], dict[int, State]] = {}

    def start(self) -> State:
        return self._reduced(self._nfa.closure(0))

    def accepts(self, state: State) -> bool:
        return state is not None and self._nfa.final in state

    def moves(self, state: State) -> dict[int, State]:
        known = self._known.get(state)
        if known is None:
            known = self._known[state] = self._find(state)
        return known

    def _find(self, state: frozenset[int]) -> dict[int, State]:
        targets: dict[int, set[int]] = {}
        work = 0
        for each in state:
            for number, target in self._nfa.moves[each]:
                closure = self._nfa.closure(target)
                consists = self._machine.consists[number]
                work += (len(closure) + 1) * len(consists)
                for symbol in consists:
                    targets.setdefault(symbol, set()).update(closure)
        self._budget.spend(work + len(state))
        shared: dict[frozenset[int], State] = {}
        moves = {}
        for symbol, found in targets.items():
            frozen = frozenset(found)
            if frozen not in shared:
                shared[frozen] = self._reduced(frozen)
            if shared[frozen] is not None:
                moves[symbol] = shared[frozen]
        return moves

    def _reduced(self, found: frozenset[int]) -> State:
        """Where all that follows is accepted, other states do not matter."""
        if self._nfa.final in found:
            for each in found:
                for number, target in self._nfa.moves[each]:
                    closure = self._nfa.closure(target)
                    if number == self._machine.all_set and each in closure and self._nfa.final in closure:
                        return closure
        return found or None


class _All:
    """States are one of each part."""

    def __init__(self, parts: list[_Part]) -> None:
        self._parts = parts

    def start(self) -> State:
        return self._joined([part.start() for part in self._parts])

    def _joined(self, states: list[State]) -> State:
        return None if None in states else tuple(states)

    def accepts(self, state: State) -> bool:
        return state is not None and all(part.accepts(each) for part, each in zip(self._parts, state, strict=True))

    def moves(self, state: State) -> dict[int, State]:
        first, *others = [part.moves(each) for part, each in zip(self._parts, state, strict=True)]
        return {
            symbol: (target, *(each[symbol] for each in others))
            for symbol, target in first.items()
            if all(symbol in each for each in others)
        }


class _Not:
    """States are those of the part in a tuple: none of the part's is the one that accepts whatever follows."""

    def __init__(self, part: _Part, machine: Machine) -> None:
        self._part = part
        self._machine = machine

    def start(self) -> State:
        return (self._part.start(),)

    def accepts(self, state: State) -> bool:
        return not self._part.accepts(state[0])

    def moves(self, state: State) -> dict[int, State]:
        moves = {} if state[0] is None else self._part.moves(state[0])
        return {symbol: (moves.get(symbol),) for symbol in range(len(self._machine.classes))}
