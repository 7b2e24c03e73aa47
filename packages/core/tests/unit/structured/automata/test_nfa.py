from __future__ import annotations

import pytest
from hypothesis import given, settings
from random_regexes import WORDS, languages

from kernelet.structured.automata import alphabet
from kernelet.structured.automata.budget import MAX_NFA_STATES, Budget, TooLargeError
from kernelet.structured.automata.nfa import Nfa
from kernelet.structured.automata.parse import parse_regex


def accepts(nfa, sets, word):
    """Step by step, with all free moves followed anew."""
    states = closed(nfa, {0})
    for letter in word:
        states = closed(
            nfa,
            {
                target
                for state in states
                for number, target in nfa.moves[state]
                if alphabet.contains(sets[number], ord(letter))
            },
        )
    return nfa.final in states


def closed(nfa, states):
    while not (more := {target for state in states for target in nfa.free[state]}) <= states:
        states |= more
    return states


@settings(max_examples=50)
@given(languages())
def test_it_accepts_the_language(language):
    sets: dict = {}
    nfa = Nfa(language.regex, sets, Budget())
    numbered = list(sets)
    words = WORDS[::3]
    assert {word for word in words if accepts(nfa, numbered, word)} == language.texts.intersection(words)


@settings(max_examples=30)
@given(languages())
def test_closures_hold_the_states_that_matter(language):
    nfa = Nfa(language.regex, {}, Budget())
    for state in range(0, len(nfa.free), 5):
        expected = {each for each in closed(nfa, {state}) if nfa.moves[each] or each == nfa.final}
        assert nfa.closure(state) == expected


def test_states_are_bounded():
    with pytest.raises(TooLargeError, match=str(MAX_NFA_STATES)):
        Nfa(parse_regex("((a{1,100}b?){1,100}c?){1,100}"), {}, Budget())
