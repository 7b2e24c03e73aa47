from __future__ import annotations

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import Chars, Concat, GrammarRules, Repeat, Text, Union
from kernelet.testing.grammar_engine.vocabulary import make_vocabulary
from kernelet_structured_outlines.engine import OutlinesEngine
from kernelet_structured_outlines.written import MOST

TOKENS = [b"a", b"ab", b"abc", b"b", b"bc", "é".encode(), b"x", b""]
DIGIT = Chars(((48, 57),))


def start(expression):
    engine = OutlinesEngine(Settings(plugin="outlines"), make_vocabulary(TOKENS))
    return engine.load(engine.compile(GrammarRules({"root": expression}))).start()


@pytest.mark.parametrize(
    "expression, accepted, expected",
    [
        (Text("abcx"), [], b"abcx"),
        (Text("abcx"), [1], b"cx"),
        (Text("abcx"), [2, 6], b""),
        (Concat((Text("ab"), Repeat(Text("x"), 0, 1))), [], b"ab"),
        (Concat((Text("ab"), DIGIT)), [], b"ab"),
        (Union((Text("abx"), Text("abc"))), [], b"ab"),
        (Concat((Text("aé"), Chars(((0xE9, 0xEA),)))), [], "aéé".encode()[:-1]),
        (Text("ab" * MOST), [], b"ab" * (MOST // 2)),
    ],
    ids=[
        "all",
        "the rest",
        "nothing",
        "up to where it may end",
        "up to a choice of bytes that are no tokens",
        "what alternatives have in common",
        "half a letter",
        "as far as it looks",
    ],
)
def test_what_must_come(expression, accepted, expected):
    answer = start(expression)
    assert answer.accept(accepted)
    assert answer.forced() == expected
    assert answer.fork().forced() == expected
