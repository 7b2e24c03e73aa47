from __future__ import annotations

from kernelet.contracts.structured import Chars, Concat, Repeat, Rule, Text, Union
from kernelet_structured_guidance.lexemes import Lexemes, regular_rules

DIGITS = Repeat(Chars(((48, 57),)), 1, None)
LIST = {
    "root": Concat((Text("["), Repeat(Rule("item"), 0, None), Text("]"))),
    "item": Concat((Union((Rule("number"), Rule("root"))), Text(","))),
    "number": DIGITS,
}


def test_rules_that_reach_a_recursive_one_are_not_regular():
    assert regular_rules(LIST) == {"number"}


def test_what_nothing_can_extend_is_one_lexeme():
    lexemes = Lexemes(LIST)

    assert lexemes.is_lexeme(DIGITS)
    assert not lexemes.is_lexeme(Rule("item"))


def test_what_a_following_character_extends_is_taken_apart():
    """``ab`` before ``c`` is no ``abc``, which the lexer would take it for."""
    abc = Text("abc")
    rules = {"root": Union((Concat((Text("ab"), Rule("root"))), Concat((abc, Rule("root"))), Text("c")))}
    lexemes = Lexemes(rules)

    assert not lexemes.is_lexeme(abc)
    assert lexemes.divide(abc) == (Text("a"), Text("b"), Text("c"))
    assert lexemes.is_lexeme(Text("a"))


def test_neighbours_are_one_lexeme():
    lexemes = Lexemes(LIST)
    parts = (Text("("), DIGITS, Text(":"))

    assert lexemes.divide(Concat((*parts, Rule("root"), Text(")")))) == (
        Concat(parts),
        Rule("root"),
        Concat((Text(")"),)),
    )
