from __future__ import annotations

from random import Random

import numpy as np
import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import Chars, GrammarRules, Repeat, Text
from kernelet.testing.grammar_engine.answers import Engines, bits_of, kind_of, outsider, says, walk
from kernelet.testing.grammar_engine.faults import Guesses, Singles, engine_of
from kernelet.testing.grammar_engine.reference import ReferenceEngine, byte_vocabulary
from kernelet.testing.verdict import ConformanceError

LETTERS = GrammarRules({"root": Repeat(Chars(((97, 98), (0xE4, 0xE4))), 1, 20)})


def engines(engine=ReferenceEngine):
    return Engines(engine(Settings(plugin="p"), byte_vocabulary()))


def test_two_of_one_kind_never_differ():
    compiled = engines().compile(LETTERS)
    walk(compiled, Random(1), 10)
    answer = compiled.start()
    answer.accept([97, 98, 97])
    answer.rollback(2)
    other = answer.fork()
    other.accept([98])
    assert (answer.tokens, other.tokens) == ([97], [97, 98])
    answer.look_at_row()
    assert answer.look_ahead() == b""
    assert str(answer).startswith("after b'a' of GrammarRules(")


def test_tokens_that_fit():
    answer = engines().compile(LETTERS).start()
    tokens = answer.follow(Random(1), 30)
    answer.accept(tokens)
    assert answer.truth.can_end()
    assert set(map(type, tokens)) == {int}
    short = engines().compile(GrammarRules({"root": Text("a")})).start()
    assert len(short.follow(Random(1), 5)) == 1


def test_tokens_that_do_not():
    answer = engines().compile(LETTERS).start()
    found = {outsider(answer, Random(seed), set(answer.allowed)) for seed in range(50)}
    assert not found & set(answer.allowed)
    texts = {answer.vocabulary.token_bytes[token][:1] for token in found}
    assert texts <= {b"a", b"b", b"\xc3"}, "they begin like those that do"


def test_a_difference_is_said():
    with pytest.raises(ConformanceError, match=r"^a mask must allow tokens of several characters: after b'' of"):
        walk(engines(engine_of(Singles)).compile(LETTERS), Random(1), 1)
    guess = engines(engine_of(Guesses)).compile(LETTERS).start()
    with pytest.raises(ConformanceError, match=r"^forced\(\) must be bytes with which"):
        guess.look_ahead()
    with pytest.raises(ConformanceError, match=r"^first: second"), says("first"):
        raise LookupError("second")


def test_words():
    assert kind_of(b"a", twice=True) == "all tokens of the same bytes"
    assert kind_of(b"\xc3", twice=False) == "tokens that are parts of characters"
    assert kind_of("ä".encode(), twice=False) == "every character that the rules allow"
    assert kind_of("äa".encode(), twice=False) == "tokens of several characters"
    assert bits_of(np.array([5, -(2**31)], np.int32)) == (0, 2, 63)
