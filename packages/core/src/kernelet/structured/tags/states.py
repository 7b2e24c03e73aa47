"""Parts of an answer to states: what is text and rules becomes rules; tokens and free text stand between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from kernelet.request.structured import Exit, FreeState, Marker, MarkerState, RulesState, State
from kernelet.structured import rules as over
from kernelet.structured.refusal import InvalidConstraintError, Refusal, UnenforcedError
from kernelet.structured.segments import check_states
from kernelet.structured.tags.outline import (
    Anything,
    Choice,
    Many,
    Node,
    Ruled,
    Series,
    Token,
    Triggered,
    Words,
    behind,
    flat,
    is_ruled,
    written,
)

MAX_STATES: Final = 10_000


@dataclass(frozen=True)
class Way:
    """What comes, and the state behind it.

    Attributes:
        nodes: One after the other.
        end: Index; None: the text is whole.
    """

    nodes: tuple[Node, ...]
    end: int | None


def states_of(node: Node, path: str) -> tuple[State, ...]:
    """The states of a text.

    Args:
        node: All of it.
        path: Where it stands in what was asked.

    Raises:
        UnenforcedError: it cannot be told from the text where a part ends.
        InvalidConstraintError: it is too large.
    """
    return _Writer(path).write(node)


class _Writer:
    """Writes states from the end to the begin."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._states: list[State | None] = []
        self._known: dict[Way, int | None] = {}

    def write(self, node: Node) -> tuple[State, ...]:
        begin = self.enter(Way((node,), None))
        if begin is None:  # the empty text
            begin = self._rules((), None)
        found = [state for state in self._states if state is not None]
        assert len(found) == len(self._states), "states that were reserved are set"
        order = [begin, *(number for number in range(len(found)) if number != begin)]
        places = {number: place for place, number in enumerate(order)}
        states = tuple(_moved(found[number], places) for number in order)
        try:
            check_states(states)
        except ValueError as error:
            raise InvalidConstraintError(f"{self._path}: {error}") from None
        return states

    def enter(self, way: Way) -> int | None:
        """The state in which a way begins."""
        way = Way(flat(way.nodes), way.end)
        if way not in self._known:
            self._known[way] = self._enter(way)
        return self._known[way]

    def _enter(self, way: Way) -> int | None:
        if not way.nodes:
            return way.end
        count = next((place for place, node in enumerate(way.nodes) if not is_ruled(node)), len(way.nodes))
        if count:
            return self._rules(way.nodes[:count], self.enter(Way(way.nodes[count:], way.end)))
        node, rest = way.nodes[0], way.nodes[1:]
        match node:
            case Token():
                return self._add(MarkerState(exits=(Exit(marker=_marker(node), next=self.enter(Way(rest, way.end))),)))
            case Anything(excludes):
                return self._free(self._reserve(), [], Way(rest, way.end), excludes)
            case Choice(items):
                return self._choose([Way((item, *rest), way.end) for item in items])
            case Many():
                return self._many(node, Way(rest, way.end))
            case Triggered():
                return self._triggered(node, Way(rest, way.end))
        raise TypeError(node)

    def _rules(self, nodes: tuple[Node, ...], following: int | None) -> int:
        writer = over.RuleWriter()
        rules = writer.finish(written(Series(nodes), writer))
        return self._add(RulesState(rules=over.encode(rules), digest=over.digest(rules), next=following))

    def _free(self, state: int, exits: list[Exit], rest: Way, excludes: tuple[Marker, ...]) -> int:
        """Free text, ended by markers of its own or what the rest begins with."""
        more, may_end = self._begins([rest])
        self._states[state] = FreeState(exits=(*exits, *more), may_end=may_end, excludes=excludes)
        return state

    def _many(self, node: Many, rest: Way) -> int | None:
        after = self._reserve()
        more = Way((node.separator, node.item), after)
        exits, may_end = self._begins([more, rest])
        self._states[after] = MarkerState(exits=exits, may_end=may_end)
        first = Way((node.item,), after)
        return self._choose([first, rest]) if node.optional else self.enter(first)

    def _triggered(self, node: Triggered, rest: Way) -> int | None:
        free = self._reserve()
        following = rest if node.once else Way((), free)
        exits = []
        for trigger in node.triggers:
            rests = [after for item in node.items if (after := behind(trigger, item)) is not None]
            ways = [Way((*after, *following.nodes), following.end) for after in rests]
            if ways:
                exits.append(Exit(marker=_marker(trigger), next=self._choose(ways)))
        self._free(free, exits, rest, node.excludes)
        if node.required:
            return self._choose([Way((item, *following.nodes), following.end) for item in node.items])
        return free

    def _choose(self, ways: Sequence[Way]) -> int | None:
        """The state of several ways, of which the next tokens tell which one it is."""
        ways = list(dict.fromkeys(Way(flat(way.nodes), way.end) for way in ways))
        if len(ways) == 1:
            return self.enter(ways[0])
        if len({way.end for way in ways}) == 1:
            texts, end = [way.nodes for way in ways], ways[0].end
            if head := _common(texts):
                return self.enter(Way((*head, Choice(tuple(Series(text[len(head) :]) for text in texts))), end))
            tail = _common([text[::-1] for text in texts])[::-1]
            parts = tuple(Series(text[: len(text) - len(tail)]) for text in texts)
            if all(map(is_ruled, parts)):
                return self.enter(Way((Choice(parts), *tail), end))
        ruled = [way for way in ways if way.nodes and isinstance(way.nodes[0], Ruled)]
        others = [way for way in ways if way not in ruled]
        if len(ruled) == 1 and all(way.nodes and isinstance(way.nodes[0], Token) for way in self._opened(others)):
            return self._instead(ruled[0], others)
        exits, may_end = self._begins(ways)
        return self._add(MarkerState(exits=exits, may_end=may_end))

    def _instead(self, way: Way, others: Sequence[Way]) -> int:
        """The state of a text of rules in place of which tokens may come: those are no text, so the first one tells."""
        number = self.enter(way)
        state = None if number is None else self._states[number]
        assert isinstance(state, RulesState), "it begins with rules"
        exits, _ = self._begins(others)
        return self._add(replace(state, instead=self._add(MarkerState(exits=exits))))

    def _begins(self, ways: Sequence[Way]) -> tuple[tuple[Exit, ...], bool]:
        """The markers that ways begin with, and whether nothing may come at all."""
        found: dict[Words | Token, list[Way]] = {}
        may_end = False
        for way in self._opened(ways):
            if not way.nodes:
                if way.end is not None:
                    raise self._refused("nothing tells where it ends: it needs a text at its end")
                may_end = True
                continue
            head = way.nodes[0]
            assert isinstance(head, Words | Token)
            found.setdefault(head, []).append(Way(way.nodes[1:], way.end))
        for text in sorted((one.text for one in found if isinstance(one, Words)), key=len, reverse=True):
            starts = [one for one in found if isinstance(one, Words) and one.text != text and text.startswith(one.text)]
            if starts:
                start = min(starts, key=lambda one: len(one.text))
                ways_of = found.pop(Words(text))
                found[start] += [Way((Words(text[len(start.text) :]), *way.nodes), way.end) for way in ways_of]
        return tuple(Exit(marker=_marker(head), next=self._choose(rests)) for head, rests in found.items()), may_end

    def _opened(self, ways: Sequence[Way]) -> list[Way]:
        """Ways that begin with a text or a token, or are empty."""
        found: list[Way] = []
        waiting = list(ways)[::-1]
        while waiting:
            if len(found) + len(waiting) > MAX_STATES:
                raise InvalidConstraintError(f"{self._path}: it has more than {MAX_STATES} ways to begin")
            way = waiting.pop()
            nodes = flat(way.nodes)
            head = nodes[0] if nodes else None
            match head:
                case None | Words() | Token():
                    found.append(Way(nodes, way.end))
                case Choice(items):
                    waiting += [Way((item, *nodes[1:]), way.end) for item in items][::-1]
                case Many(item, separator, optional):
                    again = Many(Series(flat((separator, item))), optional=True)
                    waiting.append(Way((item, again, *nodes[1:]), way.end))
                    waiting += [Way(nodes[1:], way.end)] if optional else []
                case Ruled():
                    raise self._refused(
                        "a constraint must not follow free text, or compete with others, without a text"
                    )
                case _:
                    raise self._refused("free text must not compete with others")
        return found

    def _refused(self, reason: str) -> UnenforcedError:
        return UnenforcedError([Refusal(self._path, reason)])

    def _reserve(self) -> int:
        if len(self._states) >= MAX_STATES:
            raise InvalidConstraintError(f"{self._path}: it has more than {MAX_STATES} states")
        self._states.append(None)
        return len(self._states) - 1

    def _add(self, state: State) -> int:
        number = self._reserve()
        self._states[number] = state
        return number


def _moved(state: State, places: Mapping[int, int]) -> State:
    """A state whose followers are elsewhere."""
    if isinstance(state, RulesState):
        following, instead = (None if one is None else places[one] for one in (state.next, state.instead))
        return replace(state, next=following, instead=instead)
    exits = tuple(replace(one, next=None if one.next is None else places[one.next]) for one in state.exits)
    return replace(state, exits=exits)


def _marker(head: Words | Token) -> Marker:
    return Marker(text=head.text, token_id=head.token_id if isinstance(head, Token) else None)


def _common(texts: Sequence[tuple[Node, ...]]) -> tuple[Node, ...]:
    """What all begin with."""
    first = min(texts, key=len)
    count = next((place for place, node in enumerate(first) if any(text[place] != node for text in texts)), len(first))
    return first[:count]
