from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.structured import Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet.structured.rules import RuleWriter
from kernelet.structured.tags.outline import (
    Anything,
    Choice,
    Many,
    Ruled,
    Series,
    Token,
    Triggered,
    Words,
    behind,
    flat,
    is_ruled,
    series_of,
    written,
)
from kernelet.testing.grammar_engine.reference import recognizes
from kernelet.testing.grammar_engine.sample import sample_text

BRACKETS = GrammarRules(
    {"root": Union((Concat((Text("("), Rule("root"), Text(")"))), Rule("item"))), "item": Text("x")}
)
DIGITS = GrammarRules({"root": Repeat(Rule("item"), 1, 2), "item": Chars(((48, 57),))})


def test_texts_and_tokens():
    tokens = {"<a>": 1, "<a>>": 2}
    assert series_of("x<a>y<a>>", tokens).items == (Words("x"), Token("<a>", 1), Words("y"), Token("<a>>", 2))
    assert series_of("<a>", {}).items == (Words("<a>"),)
    assert series_of("", tokens) == series_of("", {}) == Series(())


@given(
    text=st.text("<a>b"), tokens=st.dictionaries(st.text("<a>", min_size=1, max_size=3), st.integers(0, 9), max_size=3)
)
def test_the_parts_of_a_text_are_the_text(text, tokens):
    parts = series_of(text, tokens).items
    assert "".join(part.text for part in parts) == text
    for part in parts:
        assert tokens[part.text] == part.token_id if isinstance(part, Token) else not any(map(part.text.count, tokens))


def test_series_are_one():
    nodes = (Words("a"), Series((Words("b"), Series(()), Series((Words("c"), Token("t", 1))))), Words("d"))
    assert flat(nodes) == (Words("abc"), Token("t", 1), Words("d"))
    assert flat((Series(()),)) == ()


def test_what_follows_a_head():
    item = Series((Words("<a"), Series((Words(">x"), Token("t", 1)))))
    assert behind(Words("<a>"), item) == (Words("x"), Token("t", 1))
    assert behind(Words("<a>x"), item) == (Token("t", 1),)
    assert behind(Words("x"), item) is None
    assert behind(Token("t", 1), Series((Token("t", 1),))) == ()
    assert behind(Words("a"), Series(())) is None


def test_what_rules_can_say():
    words, ruled = Words("a"), Ruled(DIGITS)
    for node in (words, ruled, Series((words, ruled)), Choice((words, ruled)), Many(ruled, Series((words,)))):
        assert is_ruled(node)
        assert not is_ruled(Series((node, Token("t", 1))))
    for node in (
        Token("t", 1),
        Anything(),
        Triggered((words,), (Series((words,)),)),
        Many(words, Series((Token("t", 1),))),
    ):
        assert not is_ruled(node)
        with pytest.raises(TypeError):
            written(node if not isinstance(node, Many) else node.separator, RuleWriter())


def test_written_as_rules():
    node = Series(
        (
            Words("<"),
            Choice((Ruled(BRACKETS), Series((Words("n"), Ruled(DIGITS))), Series(()))),
            Many(Ruled(DIGITS), Series((Words(","),)), optional=True),
            Words(">"),
        )
    )
    writer = RuleWriter()
    rules = writer.finish(written(node, writer))
    pattern = re.compile(r"<(?:(\(*)x(\)*)|n[0-9]{1,2}|)(?:[0-9]{1,2}(?:,[0-9]{1,2})*)?>")
    choose = random.Random(3)
    for _ in range(200):
        found = pattern.fullmatch(sample_text(rules, choose))
        assert found
        assert found[1] is None or len(found[1]) == len(found[2])
    for text in ("<>", "<x>", "<((x))1,2,33>", "<n5>", "<n555>", "<1,2>"):
        assert recognizes(rules, text)
    for text in ("<,>", "<1,>", "<(x>", "<n>", "<xx>", "<123>", ""):
        assert not recognizes(rules, text)
