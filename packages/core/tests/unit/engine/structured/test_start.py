from __future__ import annotations

import pytest

from kernelet.engine.structured.start import Starter
from kernelet.request.structured import Exit, FreeState, Marker, StructuredRequest
from kernelet.structured.rules import decode
from kernelet.text.vocabulary import vocabulary_of

from .conftest import DIGITS, held_to


def test_rules_alone_are_the_engines_own_grammar(compiler):
    structured = held_to(DIGITS)
    (state,) = structured.states
    compiled = compiler.engine.load(compiler.engine.compile(decode(state.rules)))
    grammar = Starter()(structured, {state.digest: compiled}, compiler.vocabulary)
    assert type(grammar) is type(compiled.start())
    assert grammar.accept(b"12")
    assert not grammar.accept(b"x")


def test_states_are_a_program(compiler):
    (rules,) = held_to(DIGITS).states
    compiled = compiler.engine.load(compiler.engine.compile(decode(rules.rules)))
    free = FreeState(exits=(Exit(marker=Marker(text="#"), next=1),), may_end=False)
    structured = StructuredRequest(engine="reference", states=(free, rules))
    start = Starter()
    for vocabulary in (compiler.vocabulary, compiler.vocabulary, vocabulary_of(compiler.vocabulary.token_bytes, ())):
        grammar = start(structured, {rules.digest: compiled}, vocabulary)
        assert not grammar.can_end()
        assert grammar.accept(list(b"any text #12"))
        assert grammar.can_end()
        assert not grammar.accept(list(b"x"))


def test_states_that_lead_nowhere(compiler):
    (rules,) = held_to(DIGITS).states
    free = FreeState(exits=(Exit(marker=Marker(text="#"), next=9),))
    with pytest.raises(ValueError, match="9"):
        Starter()(StructuredRequest(engine="reference", states=(free, rules)), {}, compiler.vocabulary)
