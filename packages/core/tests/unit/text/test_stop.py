from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.text.stop import StopChecker, StopDelta, StopStrings

LETTERS = st.text("ab", max_size=12)
STOPS = st.lists(st.text("ab", min_size=1, max_size=4), max_size=4)


def one_shot(text: str, stops: list[str], first_end: int = 0) -> tuple[str, str | None]:
    """The text up to the stop string whose end comes first; of several that end there the longest."""
    for end in range(first_end + 1, len(text) + 1):
        if found := [stop for stop in stops if text[:end].endswith(stop)]:
            stop = max(found, key=len)
            return text[: end - len(stop)], stop
    return text, None


def in_pieces(pieces: list[str], stops: list[str], **options: bool) -> tuple[str, str | None]:
    checker = StopChecker(StopStrings(stops), **options)
    shown = ""
    for piece in pieces:
        delta = checker.push(piece)
        shown += delta.text
        if delta.stop is not None:
            return shown, delta.stop
    return shown + checker.flush(), None


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(edges)]


@given(LETTERS, STOPS, st.lists(st.integers(0, 20), max_size=6), st.booleans())
def test_same_as_one_shot_however_cut(text, stops, places, include):
    shown, stop = one_shot(text, stops)
    expected = (shown + stop if include and stop else shown, stop)
    assert in_pieces(cut(text, places), stops, include_in_output=include) == expected
    assert in_pieces(list(text), stops, include_in_output=include) == expected


@given(LETTERS, STOPS)
def test_holds_back_no_more_than_it_must(text, stops):
    checker = StopChecker(StopStrings(stops))
    shown, so_far = "", ""
    for character in text:
        so_far += character
        delta = checker.push(character)
        shown += delta.text
        if delta.stop is not None:
            return
        begins = [size for stop in stops for size in range(1, len(stop) + 1) if so_far.endswith(stop[:size])]
        assert shown == so_far[: len(so_far) - max(begins, default=0)]


@given(LETTERS, STOPS, st.integers(0, 12))
def test_stops_that_end_too_early_are_text(text, stops, early):
    checker = StopChecker(StopStrings(stops))
    first = checker.push(text[:early], may_stop=False)
    assert first.stop is None
    second = checker.push(text[early:])
    shown = first.text + second.text + ("" if second.stop is not None else checker.flush())
    assert (shown, second.stop) == one_shot(text, stops, first_end=early)


def test_across_deltas():
    checker = StopChecker(StopStrings(["\n\nUser:"]))
    assert checker.push("Hi\n") == StopDelta("Hi")
    assert checker.push("\nUse") == StopDelta("")
    assert checker.push("r: what") == StopDelta("", "\n\nUser:")
    with pytest.raises(ValueError, match="has ended"):
        checker.push("more")


def test_nothing_is_held_without_stop_strings():
    checker = StopChecker(StopStrings([]))
    assert checker.push("abc") == StopDelta("abc")
    assert checker.flush() == ""


def test_flush_returns_what_was_held_once():
    checker = StopChecker(StopStrings(["abc"]))
    assert checker.push("xab") == StopDelta("x")
    assert checker.flush() == "ab"
    assert checker.flush() == ""


def test_repeated_strings_and_unicode():
    assert in_pieces(["a🙂", "🌶b"], ["🙂🌶", "🙂🌶"]) == ("a", "🙂🌶")


def test_empty_stop_string_is_refused():
    with pytest.raises(ValueError, match="empty"):
        StopStrings(["a", ""])


def test_choices_share_the_automaton():
    stops = StopStrings(["ab"])
    one, two = StopChecker(stops), StopChecker(stops)
    assert one.push("a") == StopDelta("")
    assert two.push("b") == StopDelta("b")
    assert one.push("b") == StopDelta("", "ab")


def test_hundreds_of_strings_cost_no_more_than_one():
    """Strings that share their beginnings with the text all the time: the worst case of a naive search."""

    def seconds(count: int) -> float:
        checker = StopChecker(StopStrings([f"{'a' * 60}{number:04}" for number in range(count)]))
        start = time.process_time()
        for _ in range(200):
            checker.push("a" * 50)
        return time.process_time() - start

    one = min(seconds(1) for _ in range(3))
    assert min(seconds(500) for _ in range(3)) < 4 * one
