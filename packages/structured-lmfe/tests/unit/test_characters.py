from __future__ import annotations

import pytest

from kernelet_structured_lmfe.characters import NONE, Characters, length_of, next_bytes, span_of

EDGES = (
    0,
    0x41,
    0x80,
    0xE9,
    0x800,
    0x1000,
    0x20AC,
    0xD000,
    0xD800,
    0xE000,
    0x10000,
    0x1F600,
    0x40000,
    0x100000,
    0x110000,
)
POINTS = sorted({code for edge in EDGES for code in (edge - 1, edge) if 0 <= code < 0x110000 and code >> 11 != 27})


def test_a_set_has_what_is_in_its_ranges():
    one = Characters([(97, 99), (101, 101), (0x10FFFF, 0x10FFFF)])

    assert [code for code in range(90, 110) if one.meets(code, code)] == [97, 98, 99, 101]
    assert one.meets(0x10FFFF, 0x10FFFF)
    assert one.meets(0, 97)
    assert one.meets(100, 200)
    assert not one.meets(100, 100)
    assert not one.meets(102, 0x10FFFE)
    assert not one.meets(*NONE)
    assert not Characters([(0, 0x10FFFF)]).meets(*NONE)


@pytest.mark.parametrize("code", POINTS)
def test_spans_are_those_of_utf_8(code):
    text = chr(code).encode()

    assert length_of(text[0]) == len(text)
    for end in range(1, len(text) + 1):
        first, last = span_of(text[:end])
        assert first <= code <= last
        assert all(data.startswith(text[:end]) for data in encoded(first, last))
        assert not any(data.startswith(text[:end]) for data in encoded(first - 1, last + 1))


def encoded(*codes: int) -> list[bytes]:
    """Surrogates as well: none is in a set."""
    return [chr(code).encode("utf-8", "surrogatepass") for code in codes if 0 <= code <= 0x10FFFF]


@pytest.mark.parametrize(
    "data", [b"\x80", b"\xbf", b"\xc0", b"\xc1\x80", b"\xf5", b"\xff", b"\xc3\x28", b"\xe2\x82\x41", b"\xe2\xc3"]
)
def test_other_bytes_begin_no_character(data):
    assert span_of(data) == NONE


@pytest.mark.parametrize("data", [b"\xe0\x80", b"\xe0\x9f", b"\xf0\x80", b"\xf0\x8f\xbf", b"\xf4\x90"])
def test_what_is_longer_than_it_need_be_or_too_large_begins_no_character(data):
    first, last = span_of(data)

    assert first > last


@pytest.mark.parametrize(
    "ranges",
    [
        [(0x61, 0x63)],
        [(0, 0x7FF), (0xD800 - 64, 0xD7FF), (0x10000, 0x100FF)],
        [(0xE9, 0xE9), (0x20AC, 0x20AC), (0x1F600, 0x1F64F)],
        [(0x7FF, 0x800), (0xFFFF, 0x10000)],
        [(0xD000, 0xD7FF), (0x10FFFF, 0x10FFFF)],
    ],
)
def test_the_next_bytes_are_those_of_some_character(ranges):
    texts = {chr(code).encode() for first, last in ranges for code in range(first, last + 1)}
    starts: dict[bytes, set[str]] = {b"": set()}
    for text in texts:
        for end in range(len(text)):
            starts.setdefault(text[:end], set()).add(chr(text[end]))
    halves = [Characters(ranges[:1]), Characters(ranges[-1:]), Characters(ranges)]
    few = sorted(starts)[:: max(1, len(starts) // 200)]

    assert {pending: next_bytes(halves, pending) for pending in few} == {pending: starts[pending] for pending in few}
