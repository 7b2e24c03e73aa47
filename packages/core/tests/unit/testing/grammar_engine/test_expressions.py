from __future__ import annotations

from kernelet.contracts.structured import EMPTY, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet.testing.grammar_engine.expressions import changed, count, names_in, proper, words
from kernelet.testing.grammar_engine.recognizer import recognizes

A, ROOT, OTHER = Text("a"), Rule("root"), Rule("other")


def test_parts():
    expression = Concat((A, Repeat(Union((ROOT, OTHER)), 0, 1)))
    assert list(names_in(expression)) == ["root", "other"]
    assert count(GrammarRules({"root": expression, "other": A})) == 7


def test_changes_from_the_inside_out():
    def change(expression):
        if isinstance(expression, Text):
            return Text(expression.text * 2)
        return Text("x") if isinstance(expression, Repeat) and expression.item == Text("aa") else expression

    assert changed(Concat((A, Repeat(A, 1, 2), ROOT)), change) == Concat((Text("aa"), Text("x"), ROOT))


def test_rules_that_are_proper_stay():
    rules = {"root": Union((Concat((ROOT, A)), Repeat(OTHER, 1, None))), "other": Text("b")}
    assert proper(rules) == GrammarRules(rules)


def test_unused_rules_are_left_out():
    assert proper({"root": A, "other": ROOT}) == GrammarRules({"root": A})


def test_every_rule_derives_a_text():
    rules = proper({"root": Concat((A, OTHER)), "other": Concat((A, OTHER))})
    assert recognizes(rules, "ab")
    assert recognizes(rules, "aab")
    assert not recognizes(rules, "a")


def test_no_rule_derives_itself_alone():
    """Directly, beside what may be empty, or around another rule."""
    for rules in (
        {"root": Union((ROOT, A))},
        {"root": Union((A, Concat((Repeat(A, 0, 1), ROOT, EMPTY))))},
        {"root": Union((A, Repeat(ROOT, 0, 3)))},
        {"root": OTHER, "other": Union((A, ROOT))},
    ):
        made = proper(rules)
        assert made != GrammarRules(rules)
        assert recognizes(made, "(a") or recognizes(made, "a")
        assert proper(made.rules) == made, "once is enough"


def test_words():
    assert list(words("ab", 2)) == ["", "a", "b", "aa", "ab", "ba", "bb"]
