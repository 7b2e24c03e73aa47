"""What one may ask of regular languages. All raise ``TooLargeError`` where the answer takes too long to find."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Final

from kernelet.structured.automata import alphabet
from kernelet.structured.automata.alphabet import Ranges
from kernelet.structured.automata.budget import Budget
from kernelet.structured.automata.dfa import Dfa, determinize
from kernelet.structured.automata.machine import Machine, State
from kernelet.structured.automata.syntax import (
    NOTHING,
    Chars,
    Concat,
    Regex,
    Repeat,
    Union,
    both,
    complement,
)
from kernelet.structured.components import circles

_NICE: Final = "a0A _-."


class Matcher:
    """Tells which texts are in a language; quicker for many texts than ``matches``."""

    def __init__(self, regex: Regex) -> None:
        self._machine = Machine(regex, Budget())
        self._class_of: dict[str, int | None] = {}

    def __call__(self, text: str) -> bool:
        machine, state = self._machine, self._machine.start
        for character in text:
            if character not in self._class_of:
                self._class_of[character] = machine.class_of(character)
            symbol = self._class_of[character]
            if state is None or symbol is None:
                return False
            state = machine.moves(state).get(symbol)
        return machine.accepts(state)


def matches(regex: Regex, text: str) -> bool:
    """Whether the text is in the language."""
    return Matcher(regex)(text)


def is_empty(regex: Regex) -> bool:
    """Whether there is no text in the language."""
    return shortest(regex) is None


def are_disjoint(one: Regex, other: Regex) -> bool:
    """Whether no text is in both."""
    return is_empty(both(one, other))


def is_subset(inner: Regex, outer: Regex) -> bool:
    """Whether every text of the first is in the second."""
    return is_empty(both(inner, complement(outer)))


def shortest(regex: Regex) -> str | None:
    """A text with as few characters as can be; None: there is none."""
    if regex == NOTHING:
        return None
    if regex.facts.plain:
        return _shortest_of_plain(regex)
    machine = Machine(regex, Budget())
    before: dict[State, tuple[State, int] | None] = {machine.start: None}
    for state in (waiting := [machine.start]):
        if machine.accepts(state):
            return _path_to(state, before, machine.classes)
        for symbol, target in machine.moves(state).items() if state is not None else ():
            if target not in before:
                before[target] = (state, symbol)
                waiting.append(target)
    return None


def _path_to(state: State, before: dict[State, tuple[State, int] | None], classes: list[Ranges]) -> str:
    characters = []
    while (step := before[state]) is not None:
        state, symbol = step
        characters.append(_nice(classes[symbol]))
    return "".join(reversed(characters))


def _nice(ranges: Ranges) -> str:
    return next((each for each in _NICE if alphabet.contains(ranges, ord(each))), chr(ranges[0][0]))


def _shortest_of_plain(regex: Regex) -> str:
    if isinstance(regex, Chars):
        return _nice(regex.ranges)
    if isinstance(regex, Concat):
        return "".join(map(_shortest_of_plain, regex.parts))
    if isinstance(regex, Union):
        return _shortest_of_plain(min(regex.parts, key=lambda part: part.facts.shortest))
    assert isinstance(regex, Repeat)
    Budget().spend(regex.facts.shortest)
    return _shortest_of_plain(regex.part) * regex.minimum if regex.minimum else ""


def lengths(regex: Regex) -> tuple[int, int | None]:
    """The fewest and the most characters of a text (None: there is no most); (0, 0) where there is no text."""
    if regex == NOTHING:
        return 0, 0
    if regex.facts.plain:
        return regex.facts.shortest, regex.facts.longest
    least = shortest(regex)
    if least is None:
        return 0, 0
    dfa = determinize(regex, Budget())
    return len(least), _longest(dfa)


def _longest(dfa: Dfa) -> int | None:
    order = _sorted(dfa)
    if order is None:
        return None
    most: dict[int, int] = {}
    for state in reversed(order):
        most[state] = max((1 + most[target] for target in dfa.moves[state].values()), default=0)
    return most[0]


def _sorted(dfa: Dfa) -> list[int] | None:
    """States such that moves lead onwards; None: some lead in a circle."""
    if circles({state: set(moves.values()) for state, moves in enumerate(dfa.moves)}):
        return None
    incoming = [0] * len(dfa.moves)
    for moves in dfa.moves:
        for target in moves.values():
            incoming[target] += 1
    for state in (order := [0]):
        for target in dfa.moves[state].values():
            incoming[target] -= 1
            if not incoming[target]:
                order.append(target)
    return order


def finite_texts(regex: Regex, limit: int) -> tuple[str, ...] | None:
    """All texts of the language, sorted, if they are not more than ``limit``; else None."""
    if regex.facts.plain:
        found = _texts_of_plain(regex, limit, Budget())
    else:
        dfa = determinize(regex, Budget())
        found = None if _sorted(dfa) is None else _texts_of_dfa(dfa, limit)
    return None if found is None else tuple(sorted(found))


def _texts_of_plain(regex: Regex, limit: int, budget: Budget) -> set[str] | None:
    """None: there are more. Where one part of a sequence has too many texts, the whole has, for the rest has some."""
    if isinstance(regex, Chars):
        if alphabet.size(regex.ranges) > limit:
            return None
        return {chr(code) for first, last in regex.ranges for code in range(first, last + 1)}
    if isinstance(regex, Union):
        texts: set[str] = set()
        for part in regex.parts:
            more = _texts_of_plain(part, limit, budget)
            if more is None or len(texts := texts | more) > limit:
                return None
        return texts
    if isinstance(regex, Concat):
        sets: Iterable[set[str] | None] = (_texts_of_plain(part, limit, budget) for part in regex.parts)
        return _sequences({""}, sets, limit, budget)
    assert isinstance(regex, Repeat)
    once = _texts_of_plain(regex.part, limit, budget)
    if once is None or regex.maximum is None:
        return None
    texts = {""}
    count = 0
    found = set[str]() if regex.minimum else {""}
    while count < regex.maximum:
        more = _sequences(texts, (once,), limit, budget)
        if more is None:
            return None
        texts, count = more, count + 1
        if count >= regex.minimum:
            found |= texts
            if len(found) > limit:
                return None
    return found


def _sequences(texts: set[str], sets: Iterable[set[str] | None], limit: int, budget: Budget) -> set[str] | None:
    for following in sets:
        if following is None:
            return None
        longer: set[str] = set()
        for text in texts:
            budget.spend(len(following) * (1 + len(text) // 64))
            longer.update(text + each for each in following)
            if len(longer) > limit:
                return None
        texts = longer
    return texts


def _texts_of_dfa(dfa: Dfa, limit: int) -> set[str] | None:
    found: set[str] = set()
    waiting = [(0, "")]
    budget = Budget()
    while waiting:
        state, text = waiting.pop()
        if state in dfa.accepting:
            found.add(text)
        more = sum(alphabet.size(dfa.classes[symbol]) for symbol in dfa.moves[state])
        # from every state some text is accepted: what waits is at least one text each
        if len(found) + len(waiting) + more > limit:
            return None
        budget.spend(more + 1)
        for symbol, target in dfa.moves[state].items():
            for first, last in dfa.classes[symbol]:
                waiting += [(target, text + chr(code)) for code in range(first, last + 1)]
    return found


def sample(regex: Regex, random: Random, size: int) -> str:
    """Some text of a language that has one; of about so many characters where that can be."""
    if not regex.facts.plain:
        return _sample_of(determinize(regex, Budget()), random, size)
    if isinstance(regex, Chars):
        return chr(random.randint(*random.choice(regex.ranges)))
    if isinstance(regex, Concat):
        share = max(size // max(len(regex.parts), 1), 1)
        return "".join(sample(part, random, share) for part in regex.parts)
    if isinstance(regex, Union):
        return sample(random.choice(regex.parts), random, size)
    assert isinstance(regex, Repeat)
    most = regex.minimum + size if regex.maximum is None else min(regex.maximum, regex.minimum + size)
    count = random.randint(regex.minimum, most)
    return "".join(sample(regex.part, random, max(size // (count + 1), 1)) for _ in range(count))


def _sample_of(dfa: Dfa, random: Random, size: int) -> str:
    sources: dict[int, list[int]] = {}
    for state, moves in enumerate(dfa.moves):
        for target in moves.values():
            sources.setdefault(target, []).append(state)
    distance = dict.fromkeys(dfa.accepting, 0)
    for state in (waiting := list(distance)):
        for source in sources.get(state, ()):
            if source not in distance:
                distance[source] = distance[state] + 1
                waiting.append(source)
    text, state = "", 0
    while not (state in dfa.accepting and (not dfa.moves[state] or random.random() * (size + 1) < len(text) + 1)):
        onward = list(dfa.moves[state].items())
        if len(text) >= size:
            onward = [min(onward, key=lambda move: distance[move[1]])]
        symbol, state = random.choice(onward)
        text += chr(random.randint(*random.choice(dfa.classes[symbol])))
    return text
