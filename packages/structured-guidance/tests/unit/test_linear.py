from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings

from kernelet.contracts.structured import (
    EMPTY,
    Chars,
    Concat,
    GrammarEngineOffer,
    GrammarRules,
    Repeat,
    Rule,
    Text,
    Union,
    walk,
)
from kernelet.testing.grammar_engine.draw import drawn_rules
from kernelet.testing.grammar_engine.recognizer import Recognizer
from kernelet.testing.search import SEARCH
from kernelet_structured_guidance.linear import branches_of, components, is_recursive, used, without_chains

A, B = Text("a"), Text("b")
SPACES = {"root": Union((Concat((Chars(((9, 10), (32, 32))), Rule("root"))), EMPTY))}
EVEN = {
    "root": Union((Concat((A, Rule("odd"))), Concat((B, Rule("root"))), EMPTY)),
    "odd": Union((Concat((A, Rule("root"))), Concat((B, Rule("odd"))))),
}
NESTED = {"root": Union((Concat((A, Rule("root"), B)), EMPTY))}
TEXTS = ["".join(text) for length in range(6) for text in product("ab", repeat=length)]


def language(rules) -> list[str]:
    recognizer = Recognizer(GrammarRules(dict(rules)))
    return [text for text in TEXTS if (state := recognizer.read(text)) and state.is_whole]


def test_a_rule_that_goes_on_with_itself_is_a_repetition():
    (rule,) = without_chains(SPACES).values()

    assert not used(rule)
    assert any(isinstance(part, Repeat) for part in walk(rule))


def test_a_chain_of_several_rules_grows_at_its_end():
    changed = without_chains(EVEN)

    assert language(changed) == [text for text in TEXTS if text.count("a") % 2 == 0]
    assert all(
        not used(part)
        for rule in changed.values()
        for concat in walk(rule)
        if isinstance(concat, Concat)
        for part in concat.items[1:]
    )


def test_what_is_nested_stays():
    assert without_chains(NESTED) == NESTED


@settings(SEARCH, max_examples=30)
@given(drawn_rules(GrammarEngineOffer(name="any", target="any:Any")))
def test_the_language_is_the_same(rules):
    assert language(without_chains(rules.rules)) == language(rules.rules)


def test_components_come_after_what_they_refer_to():
    rules = {"root": Concat((Rule("b"), Rule("c"))), "b": Rule("d"), "c": A, "d": Union((Rule("b"), B))}
    found = components(rules)

    assert sorted(map(sorted, found)) == [["b", "d"], ["c"], ["root"]]
    assert found[-1] == ["root"]
    assert [is_recursive(rules, one) for one in found] == [len(one) > 1 for one in found]


def test_many_rules_that_name_each_other_are_no_recursion_of_python():
    rules = {"root": Rule("r0"), **{f"r{number}": Rule(f"r{number + 1}") for number in range(3000)}, "r3000": A}

    assert len(components(rules)) == 3002


@pytest.mark.parametrize(
    "expression, expected",
    [
        (Concat((A, Rule("x"))), [((A,), "x")]),
        (Repeat(Rule("x"), 0, 1), [((), "x"), ((), None)]),
        (Concat((Rule("x"), A)), None),
        (Repeat(Rule("x"), 0, None), None),
        (Concat((Rule("y"), A)), [((Concat((Rule("y"), A)),), None)]),
    ],
)
def test_branches_end_with_the_rule_that_goes_on(expression, expected):
    assert branches_of(expression, {"x"}) == expected
