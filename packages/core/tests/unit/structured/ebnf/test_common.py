from __future__ import annotations

import re

import pytest

from kernelet.structured.automata.parse import parse_regex
from kernelet.structured.automata.questions import Matcher
from kernelet.structured.ebnf.common import COMMON

TEXTS = {
    "SIGNED_INT": (["+1", "-20", "007"], ["+", "1.0", ""]),
    "FLOAT": (["1.", ".5", "1e5", "2.5E-3"], ["1", ".", "e5"]),
    "NUMBER": (["1", "1.5", "1e5"], ["-1", "."]),
    "SIGNED_NUMBER": (["-1", "+1.5e5", "3"], ["--1"]),
    "ESCAPED_STRING": (['""', '"a\\"b"', '"\\\\"'], ['"a"b"', '"\\"', '"\n"', "a"]),
    "CNAME": (["a", "_1", "Ab_9"], ["1a", "", "é"]),
    "WS": ([" \t\n\r\f", " "], ["", "\v"]),
    "NEWLINE": (["\n", "\r\n\n"], ["\r", ""]),
    "C_COMMENT": (["/**/", "/* a * / **/", "/*\n*/"], ["/* */ */", "/*/", "/* *"]),
    "CPP_COMMENT": (["// x", "//"], ["/ /", "//\n"]),
    "SH_COMMENT": (["#", "# x"], ["# \n"]),
    "SQL_COMMENT": (["-- x"], ["- x"]),
    "HEXDIGIT": (["a", "F", "9"], ["g", "aa"]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_terminals_match_whole_tokens(name):
    matches = Matcher(parse_regex(COMMON[name]))
    good, bad = TEXTS[name]
    assert all(map(matches, good)) and not any(map(matches, bad))


@pytest.mark.parametrize("name", COMMON)
def test_terminals_are_pythons_regular_expressions(name):
    matches = Matcher(parse_regex(COMMON[name]))
    for good, bad in TEXTS.values():
        for text in good + bad:
            assert matches(text) == (re.fullmatch(COMMON[name], text) is not None)
