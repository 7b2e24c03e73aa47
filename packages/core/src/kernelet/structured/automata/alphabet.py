"""Sets of characters: ascending ranges of code points with gaps between them. Surrogates are in none."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

Ranges = tuple[tuple[int, int], ...]

LAST: Final = 0x10FFFF
SURROGATES: Final = (0xD800, 0xDFFF)
ALL: Final[Ranges] = ((0, SURROGATES[0] - 1), (SURROGATES[1] + 1, LAST))


def normalize(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The characters of any ranges, in any order, that may overlap."""
    return _normalized(tuple(ranges))


@lru_cache(maxsize=256)
def _normalized(ranges: Ranges) -> Ranges:
    return intersect(_join(ranges), ALL)


def _join(ranges: Iterable[tuple[int, int]]) -> Ranges:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        elif first <= last:
            joined.append((first, last))
    return tuple(joined)


def unite(sets: Iterable[Ranges]) -> Ranges:
    # U+D7FF and U+E000 are not neighbours for _join: a surrogate is between them
    return _join(each for ranges in sets for each in ranges)


def intersect(left: Ranges, right: Ranges) -> Ranges:
    common = []
    i = j = 0
    while i < len(left) and j < len(right):
        first, last = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if first <= last:
            common.append((first, last))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(common)


@lru_cache(maxsize=256)
def invert(ranges: Ranges) -> Ranges:
    gaps = []
    start = 0
    for first, last in ranges:
        if start < first:
            gaps.append((start, first - 1))
        start = last + 1
    if start <= LAST:
        gaps.append((start, LAST))
    return intersect(tuple(gaps), ALL)


def contains(ranges: Ranges, code: int) -> bool:
    index = bisect_right(ranges, code, key=lambda pair: pair[0]) - 1
    return index >= 0 and code <= ranges[index][1]


def size(ranges: Ranges) -> int:
    return sum(last - first + 1 for first, last in ranges)


def partition(sets: Sequence[Ranges]) -> tuple[list[Ranges], list[list[int]]]:
    """Classes of characters that no set tells apart.

    Returns:
        The classes, which cover all characters, and for each set the indices of the classes that it consists of.
    """
    toggles: dict[int, int] = {}
    for index, ranges in enumerate((*sets, ALL)):
        for first, last in ranges:
            toggles[first] = toggles.get(first, 0) ^ (1 << index)
            toggles[last + 1] = toggles.get(last + 1, 0) ^ (1 << index)
    pieces: dict[int, list[tuple[int, int]]] = {}
    members, start = 0, 0
    for code in sorted(toggles):
        if members:
            pieces.setdefault(members, []).append((start, code - 1))
        members ^= toggles[code]
        start = code
    classes = [_join(ranges) for ranges in pieces.values()]
    consists: list[list[int]] = [[] for _ in sets]
    for number, mask in enumerate(pieces):
        rest = mask & ~(1 << len(sets))
        while rest:
            lowest = rest & -rest
            consists[lowest.bit_length() - 1].append(number)
            rest ^= lowest
    return classes, consists
