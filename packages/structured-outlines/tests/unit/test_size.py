from __future__ import annotations

import itertools
import unicodedata

import pytest
from outlines_core import Index, Vocabulary

from kernelet.contracts.structured import EMPTY, Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet_structured_outlines.size import DEEPEST, FREE, states_of
from kernelet_structured_outlines.write import regex_of

A = Text("a")


def letters(last: int) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for code in range(0x80, last):
        if unicodedata.category(chr(code)).startswith("L"):
            joined = found and found[-1][1] == code - 1
            found[-1:] = [(found[-1][0], code)] if joined else [*found[-1:], (code, code)]
    return tuple(found)


@pytest.mark.parametrize(
    "expression",
    [
        Text("abcdefgh" * 10),
        Repeat(Chars(((48, 57),)), 3, 40),
        Repeat(Concat((Text("ab"), Repeat(Chars(((32, 32),)), 0, 8))), 0, 10),
        Repeat(Chars(((0x80, 0xD7FF), (0xE000, 0x10FFFF))), 1, 20),
        Repeat(Chars(letters(0x3000)), 1, 3),
        Repeat(Chars(((0x3041, 0x3096),)), 1, 10),
        Repeat(Chars(((0xE9, 0xE9), (0x20AC, 0x20AC), (0x1F600, 0x1F64F))), 1, 10),
    ],
)
def test_it_is_about_what_the_library_makes(expression):
    rules = GrammarRules({"root": expression})
    tokens = Vocabulary(300, {bytes([byte]): [byte] for byte in range(256)})
    made = len(Index(rf"a(?:{regex_of(rules)})\z", tokens).get_transitions())

    assert made / 2 <= states_of(rules) <= 3 * made


def test_a_place_where_most_tokens_fit_counts_several_times():
    assert states_of(GrammarRules({"root": Chars(((32, 126),))})) == FREE
    assert states_of(GrammarRules({"root": Chars(((97, 121),))})) == 1


def test_rules_count_as_often_as_they_are_referred_to():
    names = ["root", *(f"r{number}" for number in range(40))]
    rules = dict.fromkeys(names, A)
    rules |= {name: Concat((Rule(after), Rule(after))) for name, after in itertools.pairwise(names)}

    assert states_of(GrammarRules(rules)) == 2**40


def deep(levels: int) -> GrammarRules:
    expression = A
    for _ in range(levels):
        expression = Union((Concat((expression, A)), EMPTY))
    return GrammarRules({"root": expression})


@pytest.mark.parametrize(
    "rules, reason",
    [
        ({"root": Text("("), "a": A}, None),
        ({"root": Concat((Rule("a"), A)), "a": Union((A, Rule("root")))}, "rule 'root' refers to itself"),
        ({"root": Rule("b")}, "there is no rule 'b'"),
        ({}, "there is no rule 'root'"),
        (deep(DEEPEST // 2 + 1).rules, "nested too deeply"),
        (deep(2000).rules, "nested too deeply"),
        ({"root": Rule("r0")} | {f"r{n}": Rule(f"r{n + 1}") for n in range(200)} | {"r200": A}, "nested too deeply"),
    ],
)
def test_what_no_index_is_made_of_is_refused_with_a_reason(rules, reason):
    if reason is None:
        assert states_of(GrammarRules(rules)) == 1
        return
    with pytest.raises(ValueError, match=reason):
        states_of(GrammarRules(rules))


def test_the_library_reads_what_is_as_deep_as_allowed():
    rules = deep(DEEPEST // 2 - 1)

    assert states_of(rules) < DEEPEST
    Index(rf"a(?:{regex_of(rules)})\z", Vocabulary(300, {b"a": [0]}))
