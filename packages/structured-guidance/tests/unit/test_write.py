from __future__ import annotations

import re

import pytest

from kernelet.contracts.structured import EMPTY, Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet_structured_guidance.write import lark_of, regex_of, times

ANY = Chars(((0, 0xD7FF), (0xE000, 0x10FFFF)))


def test_a_regular_language_is_one_terminal():
    lark = lark_of(GrammarRules({"root": Concat((Text('{"a":'), Rule("digits"), Text("}"))), "digits": Text("1")}))

    assert "start: R_ROOT" in lark.splitlines()
    assert not re.search(r"^r_", lark, re.MULTILINE)


def test_recursion_is_a_rule():
    lark = lark_of(GrammarRules({"root": Union((Text("x"), Concat((Text("("), Rule("root"), Text(")")))))}))

    assert "start: r_root" in lark.splitlines()
    assert sum(line.startswith("r_root: ") for line in lark.splitlines()) == 1


def test_the_empty_text_is_written():
    assert 'R_ROOT: ""' in lark_of(GrammarRules({"root": EMPTY})).splitlines()


@pytest.mark.parametrize("character", [*'"\\/\n\r\t\0]^-[(){}.*+?|#&~ aé€😀', "\u2028", "\x7f"])
def test_regular_expressions_escape_what_means_something(character):
    code = ord(character)
    for expression in (Text(character), Chars(((code, code),))):
        text = re.sub(r"\\x\{([0-9a-f]+)\}", lambda found: f"\\U{int(found[1], 16):08x}", regex_of(expression))
        assert re.fullmatch(text, character)
        assert "/" not in text
        assert "\n" not in text


def test_repetitions():
    assert [times(*one) for one in ((0, None), (1, None), (0, 1), (2, 2), (3, None), (0, 9))] == [
        *("*", "+", "?", "{2,2}", "{3,}", "{0,9}")
    ]
    assert regex_of(Repeat(Union((Text("a"), ANY)), 2, 5)).endswith("){2,5}")
