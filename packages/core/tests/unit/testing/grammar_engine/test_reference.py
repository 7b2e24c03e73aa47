from __future__ import annotations

import numpy as np
import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import (
    MAX_ROLLBACK,
    Chars,
    Concat,
    GrammarEngineOffer,
    GrammarRules,
    Repeat,
    Rule,
    Text,
    Union,
)
from kernelet.testing.grammar_engine.reference import (
    ReferenceEngine,
    byte_vocabulary,
    make_vocabulary,
    plugin,
)
from kernelet.testing.offered import find_offer

VOCABULARY = byte_vocabulary()
DIGITS = Repeat(Chars(((48, 57),)), 1, None)


def answer(root, vocabulary=VOCABULARY, **rules):
    engine = ReferenceEngine(Settings(plugin="test"), vocabulary)
    return engine.load(engine.compile(GrammarRules({"root": root, **rules}))).start()


def allowed(grammar, vocabulary=VOCABULARY):
    row = np.full(vocabulary.num_words, -1, np.int32)
    grammar.fill_mask(row)
    ids = [token for token in range(32 * len(row)) if row[token // 32] >> (token % 32) & 1]
    assert ids == [token for token in range(32 * len(row)) if grammar.validate([token])]
    return [vocabulary.token_bytes[token] for token in ids]


def test_it_is_offered():
    found = find_offer(plugin, GrammarEngineOffer)
    assert found.target is ReferenceEngine
    assert found.offer == GrammarEngineOffer(name="reference", target=found.offer.target, summary=found.offer.summary)


def test_masks():
    grammar = answer(Union((Text("ab"), Text("b€"))))
    assert sorted(allowed(grammar)) == [b"a", b"a", b"ab", b"b"]
    assert grammar.accept(list(b"b\xe2"))
    assert sorted(allowed(grammar)) == [b"\x82", b"\x82\xac"]
    assert grammar.accept(list(b"\x82\xac"))
    assert allowed(grammar) == []
    assert grammar.must_end()
    assert grammar.can_end()


def test_all_or_nothing():
    grammar = answer(Text("aba"))
    assert not grammar.accept(list(b"abb"))
    assert grammar.validate(list(b"abb")) == 2
    assert not grammar.accept([-1])
    assert not grammar.accept([len(VOCABULARY.token_bytes)])
    assert not grammar.accept(VOCABULARY.stop_token_ids)
    assert grammar.accept([])
    assert grammar.accept(list(b"aba"))


def test_ends():
    number = answer(DIGITS)
    assert (number.can_end(), number.must_end()) == (False, False)
    number.accept(list(b"1"))
    assert (number.can_end(), number.must_end()) == (True, False)
    letters = answer(Text("ä"), make_vocabulary([b"x", b"\xc3"]))
    letters.accept([1])
    assert (letters.can_end(), letters.must_end()) == (False, True), "no token of this vocabulary goes on"


def test_taking_back():
    grammar = answer(DIGITS)
    grammar.accept(list(b"1" * 100))
    fork = grammar.fork()
    grammar.rollback(MAX_ROLLBACK)
    for too_many in (-1, MAX_ROLLBACK + 1):
        with pytest.raises(ValueError, match="cannot be taken back"):
            grammar.rollback(too_many)
    grammar.rollback(100 - MAX_ROLLBACK)
    assert not grammar.can_end()
    assert fork.can_end()
    with pytest.raises(ValueError, match="cannot be taken back"):
        grammar.rollback(1)


def test_what_is_forced():
    grammar = answer(Concat((Text("name: €"), DIGITS)))
    assert grammar.forced() == "name: €".encode()
    grammar.accept(list("name: €".encode()[:-1]))
    assert grammar.forced() == b"\xac"
    grammar.accept([0xAC])
    assert grammar.forced() == b""
    assert answer(Repeat(Text("a"), 0, None)).forced() == b"", "it can end"
    assert answer(Repeat(Text("a"), 10_000, None)).forced() == b"a" * 64


@pytest.mark.parametrize("rules", [{"root": Rule("other")}, {"other": Text("a")}, {"root": Repeat(Rule("x"), 0, 1)}])
def test_rules_that_are_none(rules):
    with pytest.raises(ValueError, match="there is no rule"):
        ReferenceEngine(Settings(plugin="test"), VOCABULARY).compile(GrammarRules(rules))
