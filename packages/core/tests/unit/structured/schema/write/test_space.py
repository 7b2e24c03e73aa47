from __future__ import annotations

import pytest
from written import finished

from kernelet.contracts.structured import Text
from kernelet.structured.rules import RuleWriter
from kernelet.structured.schema.write.space import Punctuation


def written(max_whitespace, *, may_be_empty):
    rules = RuleWriter()
    marks = Punctuation(max_whitespace, rules)
    return finished(rules, marks.bracketed("[]", Text("1"), may_be_empty=may_be_empty))


@pytest.mark.parametrize("text", ["[1]", "[ 1]", "[1 ]", "[\n\t\r1  ]"])
def test_whitespace_stands_inside_brackets(text):
    assert text in written(3, may_be_empty=True)
    assert (text in written(0, may_be_empty=True)) == (text == "[1]")


@pytest.mark.parametrize("text", [" [1]", "[1] ", "[    1]", "[1", "1]", "[\x0b1]"])
def test_no_whitespace_outside_and_not_too_much(text):
    assert text not in written(3, may_be_empty=True)


def test_brackets_around_nothing():
    assert "[]" in written(0, may_be_empty=True)
    assert "[   ]" in written(3, may_be_empty=True)
    assert "[      ]" not in written(3, may_be_empty=True)  # not the whitespace of both sides
    assert "[]" not in written(3, may_be_empty=False)


def test_whitespace_beside_marks():
    rules = RuleWriter()
    marks = Punctuation(2, rules)
    assert " , " in finished(rules, marks.comma)
    assert "  :" in finished(rules, marks.colon)
    assert Punctuation(0, rules).colon == Text(":")
