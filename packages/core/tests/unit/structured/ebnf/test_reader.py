from __future__ import annotations

import pytest

from kernelet.structured.ebnf.reader import Source
from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError


def test_places_have_lines_and_columns():
    source = Source("ab\n\ncd")
    assert [source.place(at) for at in (0, 1, 4, 5)] == [
        *("grammar, line 1, column 1", "grammar, line 1, column 2"),
        *("grammar, line 3, column 1", "grammar, line 3, column 2"),
    ]
    with pytest.raises(InvalidConstraintError, match=r"^grammar, line 1, column 1: no$"):
        source.fail("no")
    with pytest.raises(UnenforcedError) as refused:
        source.refuse("why", 4)
    assert refused.value.refusals[0].path == "grammar, line 3, column 1"


@pytest.mark.parametrize(
    "escape, character",
    [
        ("n", "\n"),
        ("x41", "A"),
        ("u00e9", "é"),
        ("U0001f600", "\U0001f600"),
        ("ud83d\\ude00", "\U0001f600"),
        ('"', '"'),
    ],
)
def test_escapes_are_characters(escape, character):
    source = Source(escape)
    assert source.escape('"') == character
    assert source.is_done


@pytest.mark.parametrize("escape", ["q", "x4", "u12g4", "U00110000", "ud83d", "ude00", "'", ""])
def test_escapes_that_mean_nothing_are_errors(escape):
    with pytest.raises(InvalidConstraintError, match="grammar, line 1"):
        Source(escape).escape('"')


def test_numbers_are_read_as_far_as_they_go():
    source = Source("012x")
    assert (source.number(), source.peek(), source.number()) == (12, "x", None)
    with pytest.raises(InvalidConstraintError, match="too large"):
        Source("1" * 30).number()
