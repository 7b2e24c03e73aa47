"""Automata that may be in several states at once: plain expressions, written out."""

from __future__ import annotations

from kernelet.structured.automata import alphabet
from kernelet.structured.automata.alphabet import Ranges
from kernelet.structured.automata.budget import MAX_NFA_STATES, Budget, TooLargeError
from kernelet.structured.automata.syntax import Both, Chars, Complement, Concat, Regex, Repeat, Union


class Nfa:
    """States with free moves (``free``) and moves over a character of a set (``moves``: number of the set, state).

    It starts in state 0 and accepts in ``final``. Numbers of sets are those of ``sets``, which automata share.
    """

    def __init__(self, regex: Regex, sets: dict[Ranges, int], budget: Budget) -> None:
        self.free: list[list[int]] = [[]]
        self.moves: list[list[tuple[int, int]]] = [[]]
        self._sets = sets
        self._budget = budget
        self.final = self._build(regex, 0)
        self._closures: dict[int, frozenset[int]] = {}

    def _state(self) -> int:
        if len(self.free) >= MAX_NFA_STATES:
            raise TooLargeError(f"the regular expressions need more than {MAX_NFA_STATES} states: use smaller repeats")
        self.free.append([])
        self.moves.append([])
        return len(self.free) - 1

    def _build(self, regex: Regex, start: int) -> int:
        """Adds what leads over the language from a state to a new one, which is returned."""
        if isinstance(regex, Chars):
            end = self._state()
            if regex.ranges:
                self.moves[start].append((self._sets.setdefault(regex.ranges, len(self._sets)), end))
            return end
        if isinstance(regex, Concat):
            for part in regex.parts:
                start = self._build(part, start)
            return start
        if isinstance(regex, Union):
            end = self._state()
            for part in regex.parts:
                branch = self._state()
                self.free[start].append(branch)
                self.free[self._build(part, branch)].append(end)
            return end
        if isinstance(regex, Repeat):
            return self._build_repeat(regex, start)
        assert isinstance(regex, Both | Complement)
        return self._embed(regex, start)

    def _build_repeat(self, regex: Repeat, start: int) -> int:
        copies = regex.minimum if regex.maximum is None else regex.maximum
        end = self._state()
        for number in range(copies):
            if number >= regex.minimum:
                self.free[start].append(end)
            # a state of its own: loops inside the part must not be entered from the last copy
            inner = self._state()
            self.free[start].append(inner)
            start = self._build(regex.part, inner)
        if regex.maximum is None:
            loop = self._state()
            self.free[start].append(loop)
            inner = self._state()
            self.free[loop].append(inner)
            self.free[self._build(regex.part, inner)].append(loop)
            start = loop
        self.free[start].append(end)
        return end

    def _embed(self, regex: Both | Complement, start: int) -> int:
        """Intersections and complements inside others become deterministic automata first."""
        from kernelet.structured.automata.dfa import determinize

        dfa = determinize(regex, self._budget)
        states = [self._state() for _ in dfa.moves]
        end = self._state()
        self.free[start].append(states[0])
        for state, moves in zip(states, dfa.moves, strict=True):
            targets: dict[int, list[Ranges]] = {}
            for symbol, target in moves.items():
                targets.setdefault(target, []).append(dfa.classes[symbol])
            for target, classes in targets.items():
                ranges = alphabet.unite(classes)
                self.moves[state].append((self._sets.setdefault(ranges, len(self._sets)), states[target]))
        for accepted in dfa.accepting:
            self.free[states[accepted]].append(end)
        return end

    def closure(self, state: int) -> frozenset[int]:
        """The states that free moves lead to, as far as they matter: that have other moves, or accept."""
        known = self._closures.get(state)
        if known is None:
            seen, waiting = {state}, [state]
            for each in waiting:
                new = [target for target in self.free[each] if target not in seen]
                seen.update(new)
                waiting += new
            self._budget.spend(len(seen))
            known = frozenset(each for each in seen if self.moves[each] or each == self.final)
            self._closures[state] = known
        return known
