from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.parsing import CONTENT, WHITESPACE, Exit
from kernelet.text.parsing.matcher import Found, Matcher, Patterns

ALPHABET = "ab<>\n "
MARKERS = st.text("ab<>", min_size=1, max_size=4)


def nothing(_):
    return False


def patterns(*exits, is_token=nothing):
    return Patterns(exits, is_token)


@st.composite
def exits(draw):
    """Of one state, or assume they cannot be told apart."""
    made = [
        Exit(
            tuple(draw(st.lists(MARKERS, min_size=1, max_size=2))),
            CONTENT,
            before=draw(st.sampled_from(["", "\n", " \n"])),
            at_start=draw(st.booleans()),
        )
        for _ in range(draw(st.integers(1, 4)))
    ]
    try:
        patterns(*made)
    except ValueError:
        return made[:1]
    return made


def slow(exits, text):
    """The whole text at once: the first marker to end, of those the one that began first, and where."""
    for end in range(1, len(text) + 1):
        found = []
        for number, one in enumerate(exits):
            before = (
                f"[{re.escape(one.before + (WHITESPACE if one.at_start else ''))}]*"
                if one.before or one.at_start
                else ""
            )
            expression = re.compile(before + r"[ \t\r\n]*".join(map(re.escape, one.parts)), re.DOTALL)
            starts = (start for start in range(end) if not one.at_start or not text[:start].strip(WHITESPACE))
            found += [(start, number) for start in starts if expression.fullmatch(text, start, end)]
        if found:
            start, number = min(found)
            return text[:start], end, exits[number], text[start:end]
    return text, len(text), None, ""


def run(exits, pieces):
    """The same, piece by piece."""
    matcher = Matcher(patterns(*exits))
    shown, used = [], 0
    for piece in pieces:
        found = matcher.feed(piece)
        shown.append(found.text)
        used += found.used
        if found.exit is not None:
            return "".join(shown), used, found.exit, found.marker
        assert found.used == len(piece)
    return "".join(shown) + matcher.flush(), used, None, ""


@given(exits(), st.text(ALPHABET, max_size=24), st.lists(st.integers(0, 24), max_size=4))
def test_against_the_whole_text(exits, text, places):
    bounds = [0, *sorted(place for place in places if place <= len(text)), len(text)]
    pieces = [text[start:end] for start, end in itertools.pairwise(bounds) if end > start]
    expected = slow(exits, text)
    assert run(exits, pieces) == expected
    assert run(exits, list(text)) == expected


@given(exits(), st.text(ALPHABET, max_size=24))
def test_holds_back_what_may_become_a_marker_and_nothing_else(exits, text):
    """What is shown is exactly what no marker can take any more, however the text goes on."""
    matcher = Matcher(patterns(*exits))
    found = matcher.feed(text)
    if found.exit is None:
        endings = [found.text]
        for one in exits:
            for part, rest in itertools.product(range(len(one.parts)), range(5)):
                tail = one.parts[part][rest:] + "".join(one.parts[part + 1 :])
                text_before, _, exit_, _ = slow(exits, text + tail)
                if exit_ is not None and len(text_before) < len(text):
                    endings.append(text_before)
        assert found.text == min(endings, key=len) or found.text + matcher.flush() == text


def test_a_marker_that_is_a_token_is_no_text():
    made = patterns(Exit("<end>", CONTENT, before="\n"), is_token={"<end>"}.__contains__)
    matcher = Matcher(made)
    assert matcher.feed("a<end>\n") == Found("a<end>", 7)
    found = matcher.token("<end>")
    assert (found.text, found.used, found.marker) == ("", 5, "\n<end>")
    assert Matcher(made).token("<other>") is None


def test_tokens_with_text_between_them():
    made = patterns(Exit(("<a>", "<b>"), CONTENT), is_token={"<a>", "<b>"}.__contains__)
    matcher = Matcher(made)
    assert matcher.token("<a>") == Found("", 3)
    assert matcher.feed(" x") == Found("<a> x", 2)
    assert matcher.token("<b>") == Found("<b>", 3)
    assert matcher.token("<a>") == Found("", 3)
    assert matcher.feed("\n") == Found("", 1)
    assert matcher.token("<b>").marker == "<a>\n<b>"


def test_a_start_that_has_passed():
    made = patterns(Exit("[", CONTENT, at_start=True))
    assert Matcher(made).feed(" \n[").marker == " \n["
    assert Matcher(made, fresh=False).feed(" \n[") == Found(" \n[", 3)
    assert Matcher(made).feed("x [") == Found("x [", 3)


@pytest.mark.parametrize(
    "made",
    [
        (Exit("", CONTENT),),
        (Exit((), CONTENT),),
        (Exit(("a", ""), CONTENT),),
        (Exit("ab", CONTENT), Exit("abc", CONTENT)),
        (Exit("a", CONTENT), Exit("a", CONTENT)),
        (Exit(("a", "b"), CONTENT), Exit("a", CONTENT)),
        (Exit(("a", "b"), CONTENT), Exit(("a", "bc"), CONTENT)),
    ],
)
def test_markers_that_cannot_be_told_apart(made):
    with pytest.raises(ValueError, match=r"empty marker|it would always come first"):
        patterns(*made)


@pytest.mark.parametrize("character", ["\n", "<", "a", "x"])
def test_long_texts_cost_as_much_per_character(character):
    """Counted: steps of the automaton, and copies of what is held back."""
    matcher = Matcher(patterns(Exit("<a>", CONTENT, before="\n"), Exit(("a", "b"), CONTENT)))
    size = 200_000
    found = [matcher.feed(character * 100) for _ in range(size // 100)]
    assert sum(one.used for one in found) == size
    assert "".join(one.text for one in found) + matcher.flush() == character * size
    assert len(matcher._patterns._nodes) < 20
