from __future__ import annotations

import dataclasses
from typing import get_args

import msgspec
import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import (
    EMPTY,
    Chars,
    Concat,
    Expression,
    Grammar,
    GrammarEngine,
    GrammarEngineOffer,
    GrammarRules,
    Repeat,
    Rule,
    Text,
    TokenVocabulary,
    Union,
    parts_of,
    walk,
)

EVERY = GrammarRules(
    {
        "root": Concat((Text("é\U0001f600"), Chars(((0, 9), (0x10000, 0x10FFFF))), Repeat(Rule("other"), 0, None))),
        "other": Union((EMPTY, Repeat(Text('"'), 2, 3))),
    }
)


def test_rules_travel_as_bytes():
    packed = msgspec.msgpack.encode(EVERY)
    assert msgspec.msgpack.decode(packed, type=GrammarRules) == EVERY
    tags = {one.__struct_config__.tag for one in get_args(Expression)}
    assert tags == {"text", "chars", "concat", "union", "repeat", "rule"}


def test_all_expressions_are_walked_through():
    inner = Repeat(Union((Text("a"), Text("b"))), 0, 3)
    whole = Concat((inner, Chars(((1, 2),)), Rule("root")))
    assert list(walk(whole)) == [whole, inner, inner.item, Text("a"), Text("b"), Chars(((1, 2),)), Rule("root")]
    assert parts_of(whole) == (inner, Chars(((1, 2),)), Rule("root"))
    assert parts_of(inner) == (inner.item,)
    assert parts_of(Text("a")) == ()


def test_expressions_are_values():
    assert Concat((Text("a"),)) == Concat((Text("a"),))
    assert len({Concat((Text("a"),)), Concat((Text("a"),)), EMPTY}) == 2
    with pytest.raises(AttributeError):
        EMPTY.items = (Text("a"),)


@pytest.mark.parametrize("size, words", [(1, 1), (32, 1), (33, 2), (49152, 1536)])
def test_words_of_a_row(size, words):
    vocabulary = TokenVocabulary(token_bytes=(b"a",) * size, stop_token_ids=(), digest="d")
    assert vocabulary.num_words == words


def test_an_engine_keeps_what_it_is_made_of():
    class Engine(GrammarEngine):
        def compile(self, rules):
            return b""

        def load(self, compiled):
            raise NotImplementedError

    vocabulary = TokenVocabulary(token_bytes=(b"a", b""), stop_token_ids=(1,), digest="d")
    engine = Engine(Settings(plugin="p", values={"x": 1}), vocabulary)
    assert engine.vocabulary is vocabulary
    assert engine.settings["x"] == 1
    with pytest.raises(TypeError, match="abstract"):
        GrammarEngine(Settings(plugin="p"), vocabulary)


def test_nothing_is_forced_unless_an_engine_says_so():
    assert Grammar.forced(object()) == b""


def test_an_offer_takes_everything_unless_it_says_otherwise():
    offer = GrammarEngineOffer(name="a", target="a.b:C")
    assert (offer.recursion, offer.max_repeat, offer.max_expressions) == (True, None, None)
    assert dataclasses.replace(offer, recursion=False).recursion is False
