from __future__ import annotations

from fractions import Fraction

import pytest

from kernelet.structured.schema.algebra.facts import (
    AtLeast,
    AtMost,
    Has,
    Item,
    Member,
    NoneOf,
    OneOf,
    SizeAtLeast,
    SizeAtMost,
    Truth,
)
from kernelet.structured.schema.algebra.tidy import tidy

ONE, TWO = Fraction(1), Fraction(2)


def tidied(*facts, empty=()):
    return tidy(frozenset(facts), lambda literals: set(empty) <= set(literals) if empty else False)


@pytest.mark.parametrize(
    "facts, left",
    [
        ([SizeAtLeast(1), SizeAtLeast(3), SizeAtMost(4), SizeAtMost(5)], [SizeAtLeast(3), SizeAtMost(4)]),
        ([AtLeast(ONE, exclusive=False), AtLeast(ONE, exclusive=True)], [AtLeast(ONE, exclusive=True)]),
        ([AtMost(TWO, exclusive=False), AtMost(ONE, exclusive=False)], [AtMost(ONE, exclusive=False)]),
        ([AtMost(TWO, exclusive=False), AtMost(TWO, exclusive=True)], [AtMost(TWO, exclusive=True)]),
        ([OneOf(frozenset({ONE, TWO})), NoneOf(frozenset({ONE}))], [OneOf(frozenset({TWO}))]),
        ([NoneOf(frozenset("a")), NoneOf(frozenset("b"))], [NoneOf(frozenset("ab"))]),
        ([Has("a"), Member("a", 10)], [Has("a"), Member("a", 10)]),
    ],
)
def test_one_bound_is_left(facts, left):
    assert tidied(*facts) == frozenset(left)


@pytest.mark.parametrize(
    "facts",
    [
        [SizeAtLeast(3), SizeAtMost(2)],
        [AtLeast(TWO, exclusive=False), AtMost(ONE, exclusive=False)],
        [AtLeast(TWO, exclusive=False), AtMost(TWO, exclusive=True)],
        [OneOf(frozenset("a")), OneOf(frozenset("b"))],
        [OneOf(frozenset("a")), NoneOf(frozenset("ab"))],
        [Truth(True), Truth(False)],
    ],
)
def test_contradictions(facts):
    assert tidied(*facts) is None


def test_what_must_be_there_must_have_a_value():
    assert tidied(Has("a"), Member("a", 10), Member("a", 12), empty=(10, 12)) is None
    assert tidied(Member("a", 10), Member("a", 12), empty=(10, 12)) is not None
    assert tidied(Has("a"), Member("a", 10), Member("b", 12), empty=(10, 12)) is not None
    assert tidied(SizeAtLeast(1), Item(0, 10), empty=(10,)) is None
    assert tidied(SizeAtLeast(1), Item(1, 10), empty=(10,)) is not None
