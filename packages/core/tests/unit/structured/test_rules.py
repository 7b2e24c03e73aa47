from __future__ import annotations

import re

import pytest
from derived_words import derived_words

from kernelet.contracts.structured import Chars, Concat, GrammarEngineOffer, GrammarRules, Repeat, Rule, Text, Union
from kernelet.structured.refusal import InvalidConstraintError
from kernelet.structured.rules import (
    RuleWriter,
    count_expressions,
    decode,
    digest,
    encode,
    fits,
    is_recursive,
    largest_repeat,
    recursive_rules,
)

NESTED = GrammarRules(
    {
        "root": Concat((Rule("list"), Repeat(Text("!"), 2, 7), Repeat(Chars(((48, 57),)), 1, None))),
        "list": Union((Text("x"), Concat((Text("("), Rule("list"), Text(")"))))),
    }
)
FLAT = GrammarRules({"root": Repeat(Text("a"), 3, None)})


def test_rules_are_measured():
    assert count_expressions(NESTED) == 6 + 6
    assert recursive_rules(NESTED) == {"list"}
    assert is_recursive(NESTED) and not is_recursive(FLAT)
    assert (largest_repeat(NESTED), largest_repeat(FLAT), largest_repeat(GrammarRules({"root": Text("a")}))) == (
        7,
        3,
        0,
    )


def offer(**bounds):
    return GrammarEngineOffer(name="some", target="some:Engine", **bounds)


def test_an_engine_is_told_why_rules_do_not_fit():
    assert fits(offer(), NESTED) is None
    assert "'list'" in fits(offer(recursion=False), NESTED)
    assert fits(offer(recursion=False), FLAT) is None
    assert "6 times, not 7" in fits(offer(max_repeat=6), NESTED)
    assert fits(offer(max_repeat=7, max_expressions=12), NESTED) is None
    assert "11 expressions, not 12" in fits(offer(max_expressions=11), NESTED)


def test_bytes_do_not_depend_on_the_order_of_rules():
    other = GrammarRules(dict(reversed(NESTED.rules.items())))
    assert list(other.rules) != list(NESTED.rules)
    assert encode(other) == encode(NESTED)
    assert decode(encode(NESTED)) == NESTED
    assert digest(other) == digest(NESTED) != digest(FLAT)


def test_names_of_rules_are_free_and_plain():
    writer = RuleWriter()
    hints = ["root", "Émile-Zola", "", "a b", "a-b", "7", "__", "x" * 100, *["same"] * 50]
    names = [writer.reserve(hint).name for hint in hints]
    assert len({*names, "root"}) == len(names) + 1
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)
    assert names[3] == "a_b" and names[8] == "same"


def test_rules_that_are_written_may_refer_to_each_other():
    writer = RuleWriter()
    pair = writer.reserve("pair")
    item = writer.add(Union((Text("a"), pair)), "item")
    writer.define(pair, Concat((Text("b"), item)))
    writer.add(Text("unused"))
    rules = writer.finish(item)
    assert set(rules.rules) == {"root", "pair", "item"}
    assert derived_words(rules, "ab", 3) == {"a", "ba", "bba"}


def test_rules_that_derive_nothing_are_no_grammar():
    writer = RuleWriter()
    rule = writer.reserve()
    writer.define(rule, rule)
    with pytest.raises(InvalidConstraintError):
        writer.finish(rule)
