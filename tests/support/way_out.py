"""The shortest way from somewhere in a text of some rules to its end, by Earley's items: no grammar engine is asked."""

from __future__ import annotations

import heapq
from itertools import count

from kernelet.contracts.structured import GrammarRules
from kernelet.testing.grammar_engine.recognizer import Recognizer, State


class WayOut:
    """Of some rules."""

    def __init__(self, rules: GrammarRules) -> None:
        self._recognizer = Recognizer(rules)
        self._nodes = self._recognizer._nodes
        self._lengths = [float("inf")] * len(self._nodes)
        before = None
        while before != self._lengths:
            before = list(self._lengths)
            self._lengths = [self._rest(number, 0) for number in range(len(self._nodes))]

    def after(self, text: str) -> str:
        """The fewest characters with which a text that may go on, or is whole, is whole."""
        state, found = self._recognizer.read(text), ""
        assert state is not None, f"no text begins with {text!r}"
        while not state.is_whole:
            ranges, _ = min(state.scans, key=lambda scan: self._cost(*scan[1]))
            found += chr(min(low for low, _ in ranges))
            state = self._recognizer.step(state, found[-1])
        return found

    def _rest(self, number: int, dot: int) -> float:
        """Characters that are missing of a node, at least."""
        node = self._nodes[number]
        if node.text:
            return len(node.text) - dot
        lengths = [self._lengths[child] for child in node.children]
        if node.times:
            return (left := max(0, node.times[0] - dot)) and left * lengths[0]
        if node.one_of:
            return 0 if dot else min(lengths)
        return sum(lengths[dot:])

    def _cost(self, number: int, dot: int, origin: State) -> float:
        """Characters that are missing of the text behind an item, at least."""
        turn = count()
        queue, done = [(self._rest(number, dot), next(turn), number, origin)], set()
        while queue:
            cost, _, ended, begin = heapq.heappop(queue)
            if (ended, begin) in done:
                continue
            done.add((ended, begin))
            if ended == self._recognizer._root and begin is self._recognizer.start:
                return cost
            for waiting, place, outer in begin.waiting.get(ended, ()):
                more = cost + self._rest(waiting, self._nodes[waiting].next(place))
                heapq.heappush(queue, (more, next(turn), waiting, outer))
        return float("inf")
