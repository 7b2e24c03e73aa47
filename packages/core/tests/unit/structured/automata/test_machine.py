from __future__ import annotations

import pytest
from hypothesis import given, settings
from random_regexes import WORDS, languages

from kernelet.structured.automata.budget import Budget, TooLargeError
from kernelet.structured.automata.machine import Machine
from kernelet.structured.automata.parse import parse_pattern, parse_regex
from kernelet.structured.automata.syntax import both, complement


@settings(max_examples=50)
@given(languages())
def test_it_accepts_the_language(language):
    machine = Machine(language.regex, Budget())
    for word in WORDS[::2]:
        state = machine.start
        for letter in word:
            state = machine.moves(state).get(machine.class_of(letter)) if state is not None else None
        assert machine.accepts(state) == (word in language.texts)


def test_what_follows_a_found_pattern_makes_no_states():
    machine = Machine(parse_pattern("ab"), Budget())
    seen = {machine.start}
    for state in (waiting := [machine.start]):
        for target in machine.moves(state).values():
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    assert len(seen) == 3


def test_work_is_bounded():
    regex = both(parse_regex("(a|b)*a(a|b){40}"), complement(parse_regex("(b|a)*b(a|b){40}")))
    machine = Machine(regex, Budget(20_000))

    def go_everywhere():
        for state in (waiting := [machine.start]):
            waiting += machine.moves(state).values()

    with pytest.raises(TooLargeError):
        go_everywhere()


def test_surrogates_are_in_no_class():
    assert Machine(parse_pattern("a"), Budget()).class_of("\ud800") is None
