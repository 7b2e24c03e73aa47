"""Where a text stands in a graph of rules, character by character: by Earley's algorithm.

A state is what has read the last character: nodes, each with what to do where its rule ends. That is one object for the
same, wherever a rule is called, so that a loop leads back to the state it started from.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from kernelet_structured_lmfe.characters import Characters
from kernelet_structured_lmfe.graph import END, Graph

T = TypeVar("T")


class Context:
    """What to do where a rule ends: nodes to go on from, and what to do where theirs end."""

    __slots__ = ("returns",)

    def __init__(self) -> None:
        self.returns: tuple[tuple[int, Context], ...] = ()


Item = tuple[int, Context]
"""A node, and what to do where its rule ends."""

Local = tuple[int, "Context | int"]
"""The same while a state is made; a number: what to do where the rule ends that is called here."""

Key = frozenset[tuple[int, frozenset[Local]]]


class State:
    """Never changes once it is made.

    Attributes:
        reads: The number of the characters that go on, and what they lead to.
        is_whole: The text so far is derived.
    """

    __slots__ = ("is_whole", "reads")

    def __init__(self, reads: tuple[tuple[int, Item], ...], *, is_whole: bool) -> None:
        self.reads = reads
        self.is_whole = is_whole


class Automaton:
    """Makes states as they are needed. Safe to use from several threads: at worst one is made twice, which is as well.

    Attributes:
        characters: Sets of characters, by number.
    """

    def __init__(self, graph: Graph) -> None:
        self.characters = tuple(map(Characters, graph.characters))
        self._graph = graph
        self._root = Context()
        self._states: dict[frozenset[Item], State] = {}
        self._contexts: dict[tuple[int, Key], Context] = {}

    def start(self) -> State:
        """Of the empty text."""
        return self._state(frozenset(((self._graph.starts[0], self._root),)))

    def step(self, state: State, code: int) -> State | None:
        """Where a text stands after one more character; None: no text goes on so."""
        found: set[Item] = set()
        for number, item in state.reads:
            if self.characters[number].meets(code, code):
                node, context = item
                if node == END and context is not self._root:
                    found.update(context.returns)
                else:
                    found.add(item)
        return self._state(frozenset(found)) if found else None

    def forget(self) -> None:
        """Drops all states that nobody else holds."""
        self._states.clear()
        self._contexts.clear()

    def _state(self, items: frozenset[Item]) -> State:
        return self._states.get(items) or self._states.setdefault(items, self._make(items))

    def _make(self, items: frozenset[Item]) -> State:
        """Follows everything that reads nothing."""
        reads: dict[tuple[int, Local], None] = {}
        waiting: dict[int, set[Local]] = {}
        is_whole = False
        todo: list[Local] = list(items)
        seen = set(todo)
        for number, context in todo:  # grows on the way
            node = self._graph.nodes[number]
            more: list[Local] = [(target, context) for target in node.skips]
            if number == END and isinstance(context, Context):  # a rule that ends where it begins has been skipped
                is_whole |= context is self._root
                more += context.returns
            for rule, target in node.calls:
                waiting.setdefault(rule, set()).add((target, context))
                more.append((self._graph.starts[rule], rule))
            reads.update(dict.fromkeys((read, (target, context)) for read, target in node.reads))
            new = [item for item in more if item not in seen]
            seen.update(new)
            todo += dict.fromkeys(new)
        contexts = self._resolve(waiting)
        return State(
            tuple((read, (target, _resolved(context, contexts))) for read, (target, context) in reads),
            is_whole=is_whole,
        )

    def _resolve(self, waiting: dict[int, set[Local]]) -> dict[int, Context]:
        """The contexts of rules that are called in one state: those of another where the same follows."""
        followed = {rule: frozenset(items) for rule, items in waiting.items()}
        systems = {rule: frozenset((one, followed[one]) for one in _reached(rule, waiting)) for rule in waiting}
        known = {rule: self._contexts.get((rule, system)) for rule, system in systems.items()}
        found = {rule: context or Context() for rule, context in known.items()}
        for rule, context in found.items():
            if known[rule] is None:
                context.returns = tuple((target, _resolved(one, found)) for target, one in waiting[rule])
        for rule, context in found.items():
            self._contexts.setdefault((rule, systems[rule]), context)
        return found


def _resolved(context: Context | int, contexts: dict[int, Context]) -> Context:
    return context if isinstance(context, Context) else contexts[context]


def _reached(rule: int, waiting: dict[int, set[Local]]) -> Iterable[int]:
    """A rule that is called, and those at whose ends it may end."""
    found = {rule}
    todo = [rule]
    while todo:
        inner = {context for _, context in waiting[todo.pop()] if isinstance(context, int)} - found
        found |= inner
        todo += inner
    return found
