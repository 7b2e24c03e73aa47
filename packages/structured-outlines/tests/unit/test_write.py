from __future__ import annotations

import itertools
import re

import pytest
from outlines_core import Index, Vocabulary

from kernelet.contracts.structured import EMPTY, Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet_structured_outlines.write import regex_of

A = Text("a")
AB = Union((A, Text("bc")))


@pytest.mark.parametrize(
    "expression, regex",
    [
        (A, "a"),
        (Text("a.é"), r"a\x{2e}\x{e9}"),
        (Chars(((93, 94), (97, 97), (0x10000, 0x10FFFF))), r"[\x{5d}-\x{5e}a\x{10000}-\x{10ffff}]"),
        (EMPTY, ""),
        (AB, "a|bc"),
        (Union((A, EMPTY)), "a|"),
        (Concat((A, AB, A)), "a(?:a|bc)a"),
        (Repeat(A, 0, None), "a*"),
        (Repeat(Text("ab"), 1, None), "(?:ab)+"),
        (Repeat(Repeat(A, 0, None), 0, 1), "(?:a*)?"),
        (Repeat(Repeat(A, 1, None), 2, 3), "(?:a+){2,3}"),
        (Repeat(Chars(((97, 98),)), 2, None), "[a-b]{2,}"),
        (Repeat(EMPTY, 0, 1), "(?:)?"),
        (Concat((Rule("other"), A)), "(?:a|bc)a"),
        (Repeat(Rule("other"), 3, 3), "(?:a|bc){3,3}"),
    ],
)
def test_each_expression_is_written_so_that_it_stays_together(expression, regex):
    assert regex_of(GrammarRules({"root": expression, "other": AB})) == regex


@pytest.mark.parametrize("code", [*range(128), 0x80, 0xFF, 0x2028, 0xFEFF, 0xFFFD, 0x1F600, 0x10FFFF])
def test_the_library_reads_every_character_as_itself(code):
    tokens = Vocabulary(300, {bytes([byte]): [byte] for byte in range(256)})
    one_of = Chars(((code, code), (0x3042, 0x3042)))
    index = Index(regex_of(GrammarRules({"root": Concat((Text(chr(code)), one_of))})), tokens)

    state = index.get_initial_state()
    for byte in chr(code).encode() * 2:
        assert set(index.get_allowed_tokens(state)) <= {byte, "あ".encode()[0]}
        state = index.get_next_state(state, byte)
    assert index.is_final_state(state)


def test_a_rule_that_is_needed_often_is_written_once():
    """Rules that refer to others twice, forty times: looking into each place takes for ever."""
    names = ["root", *(f"r{number}" for number in range(40))]
    rules = dict.fromkeys(names, A)
    rules |= {name: Union((EMPTY, Rule(after))) for name, after in itertools.pairwise(names)}

    assert re.fullmatch(r"(\|)+a", regex_of(GrammarRules(rules)))
