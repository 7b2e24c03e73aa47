from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.structured import Chars, Concat, GrammarRules, Repeat, Text
from kernelet.testing.grammar_engine.places import TokenTree, characters_of, is_forced, is_whole, step
from kernelet.testing.grammar_engine.recognizer import Recognizer


def place_after(root, data):
    recognizer = Recognizer(GrammarRules({"root": root}))
    return recognizer, step(recognizer, (recognizer.start, b""), data)


def test_steps_inside_characters():
    euros = Repeat(Text("€"), 1, 2)
    for data, fits, whole in (
        (b"", True, False),
        (b"\xe2\x82", True, False),
        (b"\xe2\x82\xac", True, True),
        (b"\xe2\x82\xac\xe2", True, False),
        (b"\xe2\x83", False, False),
        (b"\x82", False, False),
    ):
        _, place = place_after(euros, data)
        assert (place is not None) == fits
        assert (fits and is_whole(place) == whole) or not fits


def test_what_is_forced():
    """By bytes: two characters may begin alike."""
    letters = Concat((Text("a"), Chars(((0xE4, 0xE4), (0xF6, 0xF6))), Repeat(Text("b"), 0, 1)))
    recognizer, start = place_after(letters, b"")
    assert is_forced(recognizer, start, b"")
    assert is_forced(recognizer, start, b"a\xc3")
    assert not is_forced(recognizer, start, b"a\xc3\xa4")
    assert not is_forced(recognizer, start, b"b")
    recognizer, after = place_after(letters, "aä".encode())
    assert not is_forced(recognizer, after, b"b"), "it may end"


@given(st.binary(min_size=1, max_size=4) | st.characters(exclude_categories=["Cs"]).map(str.encode))
def test_bytes_of_characters(data):
    """Against Python's own decoder, by both ends of the range."""
    for end in range(1, len(data) + 1):
        first, last = characters_of(data[:end])
        if first > last:
            with pytest.raises(UnicodeDecodeError):
                data[:end].decode()
            return
        for code in (first - 1, first, last, last + 1):
            if 0 <= code < 0xD800 or 0xE000 <= code < 0x110000:
                assert chr(code).encode().startswith(data[:end]) == (first <= code <= last)
        if len(chr(first).encode("utf-8", "surrogatepass")) == end:
            return


def test_trees():
    recognizer, place = place_after(Repeat(Chars(((97, 98), (0xE4, 0xE4))), 0, 2), b"")
    tokens = [b"a", b"", b"ab", b"aba", b"\xc3", b"x", b"a", b"\xc3\xa4b"]
    assert sorted(TokenTree(tokens).fitting(recognizer, place)) == [0, 2, 4, 6, 7]
    assert TokenTree([]).fitting(recognizer, place) == []
