from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernelet.structured.automata import alphabet

RANGES = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=4)
EDGES = st.lists(st.tuples(st.integers(0xD7FD, 0xD802), st.integers(0xDFFD, 0xE002)), max_size=2)


def members(ranges):
    return {code for first, last in ranges for code in range(first, last + 1)}


def normal(ranges):
    return alphabet.normalize(ranges)


def is_normal(ranges):
    gaps = all(ranges[i][1] + 1 < ranges[i + 1][0] for i in range(len(ranges) - 1) if ranges[i][1] != 0xD7FF)
    return gaps and all(first <= last for first, last in ranges)


@given(RANGES, RANGES)
def test_sets_are_what_sets_of_numbers_are(one, other):
    left, right = normal(one), normal(other)
    assert members(left) == members(one) and is_normal(left)
    assert members(alphabet.intersect(left, right)) == members(one) & members(other)
    assert members(alphabet.unite((left, right))) == members(one) | members(other)
    inverted = alphabet.invert(left)
    assert is_normal(inverted) and alphabet.invert(inverted) == left
    assert {code for code in range(40) if alphabet.contains(inverted, code)} == set(range(40)) - members(one)
    assert alphabet.size(left) == len(members(one))
    assert alphabet.size(left) + alphabet.size(inverted) == 0x110000 - 0x800


@given(RANGES, EDGES)
def test_surrogates_are_in_no_set(ranges, edges):
    for each in (
        normal([*ranges, *edges]),
        alphabet.invert(normal(edges)),
        alphabet.unite((normal(ranges), normal(edges))),
    ):
        assert is_normal(each)
        assert all(last < 0xD800 or first > 0xDFFF for first, last in each)
    assert alphabet.invert(()) == alphabet.ALL and alphabet.invert(alphabet.ALL) == ()


@given(st.lists(RANGES.map(normal), max_size=4))
def test_classes_are_told_apart_by_no_set(sets):
    classes, consists = alphabet.partition(sets)
    assert alphabet.unite(classes) == alphabet.ALL and sum(map(alphabet.size, classes)) == alphabet.size(alphabet.ALL)
    for ranges, numbers in zip(sets, consists, strict=True):
        assert alphabet.unite(classes[number] for number in numbers) == ranges
    told = {tuple(number in numbers for numbers in consists) for number in range(len(classes))}
    assert len(told) == len(classes)
