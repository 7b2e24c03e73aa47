from __future__ import annotations

import pytest
from hypothesis import given, settings
from random_regexes import WORDS, languages

from kernelet.structured.automata import alphabet
from kernelet.structured.automata.budget import MAX_DFA_STATES, Budget, TooLargeError
from kernelet.structured.automata.dfa import determinize
from kernelet.structured.automata.parse import parse_regex
from kernelet.structured.automata.syntax import EVERYTHING, NOTHING, both, complement, literal, union


def run(dfa, state, word):
    for letter in word:
        symbol = next(i for i, ranges in enumerate(dfa.classes) if alphabet.contains(ranges, ord(letter)))
        state = dfa.moves[state].get(symbol)
        if state is None:
            return False
    return state in dfa.accepting


@settings(max_examples=60)
@given(languages())
def test_it_accepts_the_language_with_as_few_states_as_can_be(language):
    dfa = determinize(language.regex, Budget())
    assert {word for word in WORDS if run(dfa, 0, word)} == language.texts
    assert all(target < len(dfa.moves) for moves in dfa.moves for target in moves.values())
    # all states are told apart: refined from the pair up, as slowly as can be
    numbers = range(len(dfa.moves))
    block = {state: state in dfa.accepting for state in numbers}
    for _ in numbers:
        ways = {s: (block[s], tuple(sorted((sym, block[t]) for sym, t in dfa.moves[s].items()))) for s in numbers}
        order = {way: number for number, way in enumerate(dict.fromkeys(ways.values()))}
        block = {state: order[ways[state]] for state in numbers}
    assert len(set(block.values())) == len(dfa.moves)
    # from every state some text is accepted
    alive = set(dfa.accepting)
    for _ in numbers:
        alive |= {state for state in numbers if alive.intersection(dfa.moves[state].values())}
    assert alive == set(numbers) or (dfa.moves, dfa.accepting) == ([{}], frozenset())


@pytest.mark.parametrize(
    "regex, states",
    [
        *((NOTHING, 1), (EVERYTHING, 1), (parse_regex("(a|b)*a(a|b){3}"), 16), (parse_regex("a{0,700}"), 701)),
        (both(parse_regex("(aa)*"), parse_regex("(aaa)*")), 6),
        (complement(union(literal("ab"), literal("cb"))), 4),
    ],
)
def test_sizes_that_are_known(regex, states):
    assert len(determinize(regex, Budget()).moves) == states


def test_what_explodes_is_refused():
    with pytest.raises(TooLargeError, match=str(MAX_DFA_STATES)):
        determinize(parse_regex("(a|b)*a(a|b){30}"), Budget(10**9))
    with pytest.raises(TooLargeError):
        determinize(parse_regex("(a|b)*a(a|b){30}"), Budget(10**4))
