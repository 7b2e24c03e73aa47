from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.structured import EMPTY, Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet.testing.grammar_engine.draw import drawn_rules
from kernelet.testing.grammar_engine.recognizer import Recognizer
from kernelet.testing.search import SEARCH
from kernelet_structured_lmfe.automaton import Automaton, State
from kernelet_structured_lmfe.graph import graph_of
from kernelet_structured_lmfe.plugin import kernelet_grammar_engines

(OFFER,) = kernelet_grammar_engines()
A = Text("a")


def read(automaton: Automaton, text: str) -> list[State]:
    """The states after each character, as far as it is read."""
    states = [automaton.start()]
    for character in text:
        state = automaton.step(states[-1], ord(character))
        if state is None:
            break
        states.append(state)
    return states


def made(**rules) -> Automaton:
    return Automaton(graph_of(GrammarRules(rules)))


def test_it_reads_what_rules_derive():
    @settings(SEARCH, max_examples=150)
    @given(rules=drawn_rules(OFFER), texts=st.lists(st.text("ab0(ä€", max_size=8), min_size=5, max_size=5))
    def same(rules, texts):
        automaton, recognizer = Automaton(graph_of(rules)), Recognizer(rules)
        for text in texts:
            states = read(automaton, text)
            assert recognizer.read(text[: len(states) - 1]).is_whole == states[-1].is_whole
            assert len(states) > len(text) or recognizer.read(text[: len(states)]) is None

    same()


LOOPS = {
    "repeat": {"root": Repeat(Chars(((97, 97),)), 0, None)},
    "repeated rule": {"root": Concat((Repeat(Rule("a"), 0, None), Text("."))), "a": A},
    "repeated rule that may be longer": {
        "root": Concat((Repeat(Rule("a"), 0, None), Text("."))),
        "a": Union((A, Text("aa"))),
    },
    "rule for the rest": {"root": Union((A, Concat((A, Rule("root")))))},
    "rule for the start": {"root": Union((A, Concat((Rule("root"), A))))},
    "rules for starts, called in a loop": {
        "root": Concat((Repeat(Rule("b"), 0, None), Text("."))),
        "b": Union((A, Concat((Rule("c"), A)))),
        "c": Union((A, Concat((Rule("b"), A)))),
    },
    "empty rules": {"root": Concat((Rule("b"), Repeat(Union((EMPTY, Rule("b"), A)), 0, None))), "b": Repeat(A, 0, 1)},
}


@pytest.mark.parametrize("rules", LOOPS.values(), ids=LOOPS)
def test_a_loop_leads_back_to_the_state_it_started_from(rules):
    automaton = made(**rules)
    states = read(automaton, "a" * 200)

    assert len(states) == 201
    assert len(set(states)) < 8


def test_depth_is_kept_and_given_back():
    automaton = made(root=Union((Concat((Text("("), Rule("root"), Text(")"))), A)))
    down, up = "(" * 300, ")" * 300
    states = read(automaton, f"{down}a{up}")

    assert [state.is_whole for state in states] == [False] * 601 + [True]
    assert states[1:] == read(automaton, f"{down}a{up}")[1:]
    assert len(set(states)) == len(states)


def test_what_is_forgotten_is_made_again():
    automaton = made(root=Union((Concat((Text("("), Rule("root"), Text(")"))), A)))
    state = read(automaton, "((a")[-1]
    automaton.forget()

    assert automaton.step(automaton.step(state, ord(")")), ord(")")).is_whole
    assert automaton.step(state, ord("a")) is None
    assert read(automaton, "((a))")[-1].is_whole
