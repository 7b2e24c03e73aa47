"""The smallest automaton of a language that is in one state at a time."""

from __future__ import annotations

from dataclasses import dataclass

from kernelet.structured.automata.alphabet import Ranges
from kernelet.structured.automata.budget import MAX_DFA_STATES, Budget, TooLargeError
from kernelet.structured.automata.machine import Machine, State
from kernelet.structured.automata.syntax import Regex


@dataclass(frozen=True)
class Dfa:
    """An automaton that starts in state 0. From every state some text is accepted, unless no text is.

    Attributes:
        classes: Of characters, by number.
        moves: For each state, where a class leads; what is left out leads nowhere.
        accepting: States.
    """

    classes: list[Ranges]
    moves: list[dict[int, int]]
    accepting: frozenset[int]


def determinize(regex: Regex, budget: Budget) -> Dfa:
    """The automaton of an expression, with as few states as can be.

    Raises:
        TooLargeError: that takes too many states, or too long.
    """
    machine = Machine(regex, budget)
    numbers: dict[State, int] = {machine.start: 0}
    moves: list[dict[int, int]] = []
    accepting = set()
    for state in (waiting := [machine.start]):
        if machine.accepts(state):
            accepting.add(numbers[state])
        found = {}
        for symbol, target in machine.moves(state).items() if state is not None else ():
            number = numbers.get(target)
            if number is None:
                number = numbers[target] = len(numbers)
                waiting.append(target)
            found[symbol] = number
        moves.append(found)
        if len(numbers) > MAX_DFA_STATES:
            raise TooLargeError(
                f"the regular expressions need more than {MAX_DFA_STATES} states together: use smaller repeats and "
                "lengths, or fewer conditions on one text"
            )
    return _minimized(_trimmed(Dfa(machine.classes, moves, frozenset(accepting))), budget)


def _trimmed(dfa: Dfa) -> Dfa:
    """Without states from which no text is accepted."""
    sources: list[list[int]] = [[] for _ in dfa.moves]
    for state, moves in enumerate(dfa.moves):
        for target in set(moves.values()):
            sources[target].append(state)
    alive = dict.fromkeys(dfa.accepting)
    for state in (waiting := list(alive)):
        new = [source for source in sources[state] if source not in alive]
        alive.update(dict.fromkeys(new))
        waiting += new
    if 0 not in alive:
        return Dfa(dfa.classes, [{}], frozenset())
    return _renumbered(dfa, {state: state for state in alive})


def _renumbered(dfa: Dfa, names: dict[int, int]) -> Dfa:
    """With states of one name as one, in the order in which they are reached; what has no name is left out."""
    chosen = {name: state for state, name in names.items()}
    numbers = {names[0]: 0}
    moves: list[dict[int, int]] = []
    accepting = set()
    for name in (waiting := [names[0]]):
        state = chosen[name]
        if state in dfa.accepting:
            accepting.add(len(moves))
        found = {}
        for symbol, target in dfa.moves[state].items():
            if target not in names:
                continue
            if names[target] not in numbers:
                numbers[names[target]] = len(numbers)
                waiting.append(names[target])
            found[symbol] = numbers[names[target]]
        moves.append(found)
    return Dfa(dfa.classes, moves, frozenset(accepting))


def _minimized(dfa: Dfa, budget: Budget) -> Dfa:
    """Hopcroft's refinement, for automata whose missing moves lead nowhere."""
    sources: dict[int, dict[int, list[int]]] = {}
    for state, moves in enumerate(dfa.moves):
        for symbol, target in moves.items():
            sources.setdefault(target, {}).setdefault(symbol, []).append(state)
    rest = set(range(len(dfa.moves))) - dfa.accepting
    blocks = [set(each) for each in (dfa.accepting, rest) if each]
    block_of = {state: number for number, block in enumerate(blocks) for state in block}
    waiting = dict.fromkeys(range(len(blocks)))
    while waiting:
        splitter, _ = waiting.popitem()
        leading: dict[int, set[int]] = {}
        for target in blocks[splitter]:
            for symbol, states in sources.get(target, {}).items():
                leading.setdefault(symbol, set()).update(states)
        for before in leading.values():
            budget.spend(len(before))
            touched: dict[int, set[int]] = {}
            for state in before:
                touched.setdefault(block_of[state], set()).add(state)
            for number, inside in touched.items():
                if len(inside) == len(blocks[number]):
                    continue
                blocks[number].difference_update(inside)
                small, blocks[number] = sorted((inside, blocks[number]), key=len)
                block_of |= dict.fromkeys(small, len(blocks))
                waiting[len(blocks)] = None  # the smaller half does: the whole has split already, or waits
                blocks.append(small)
    return _renumbered(dfa, block_of)
