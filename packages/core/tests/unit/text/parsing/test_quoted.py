from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.parsing import CONTENT, CallName, QuotedArgumentsState
from kernelet.testing.search import SEARCH
from kernelet.text.parsing.draft import Draft
from kernelet.text.parsing.quoted import QuotedArgumentsScanner, literal

QUOTE = "<q>"
KEYS = st.text("abz_ é-", min_size=1).filter(lambda key: key == key.strip())
STRINGS = st.text("ax<q>q \n\"'\\{}[],:").filter(lambda text: QUOTE not in f"{text}<q"[: len(text) + 1])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.floats(allow_nan=False, allow_infinity=False) | STRINGS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def write(value):
    if isinstance(value, str):
        return f"{QUOTE}{value}{QUOTE}"
    if isinstance(value, dict):
        return f"{{{','.join(f'{name}:{write(part)}' for name, part in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(write, value))}]"
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def scan(pieces, *, ends=True):
    """The arguments, and the text that was not taken."""
    draft = Draft()
    draft.begin(CallName("f"))
    scanner = QuotedArgumentsScanner(draft, QuotedArgumentsState(to=CONTENT, quote=QUOTE))
    rest = ""
    for number, piece in enumerate(pieces):
        step = scanner.token(piece) if piece == QUOTE else scanner.feed(piece)
        if step.to is not None:
            rest = piece[step.used :] + "".join(pieces[number + 1 :])
            break
    else:
        scanner.finish()
    if ends:
        draft.finish(cut=False)
    return draft.message.tool_calls[0].arguments, rest


@SEARCH
@given(st.dictionaries(KEYS, VALUES, max_size=3), st.lists(st.integers(0, 80), max_size=4))
def test_values_come_back_however_they_are_cut(value, places):
    text = write(value) + "!"
    bounds = [0, *sorted(min(place, len(text)) for place in places), len(text)]
    pieces = [text[one:other] for one, other in itertools.pairwise(bounds) if one < other]
    arguments, rest = scan(pieces)
    assert (json.loads(arguments), rest) == (value, "!")
    assert scan(list(text)) == (arguments, "!")


def test_quotes_may_be_tokens():
    assert scan(["{a:", QUOTE, "x<q", QUOTE, "}so"]) == ('{"a":"x<q"}', "so")


@pytest.mark.parametrize("text", ["so", " x{}", "[1]"])
def test_what_begins_otherwise_is_none(text):
    arguments, rest = scan([text])
    assert (arguments, rest) == ("", text.lstrip())


def test_a_marker_before_the_object_is_for_the_state_that_follows():
    assert scan([QUOTE, "x"]) == ("", f"{QUOTE}x")


@pytest.mark.parametrize(
    "text, expected",
    [
        ("{a:<q>x<", '{"a":"x<'),
        ("{a:<q>x", '{"a":"x'),
        ("{a:12", '{"a":'),
        ("{a", "{"),
        (" ", ""),
    ],
)
def test_an_object_that_is_cut_is_as_it_came(text, expected):
    assert scan([text])[0] == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1", "1"),
        ("1e-07", "1e-07"),
        ("true", "true"),
        ("None", "null"),
        ("True", "true"),
        ("NaN", '"NaN"'),
        ("x y", '"x y"'),
    ],
)
def test_bare_values(text, expected):
    assert literal(text) == expected
