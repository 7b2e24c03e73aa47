from __future__ import annotations

from fractions import Fraction

import pytest

from kernelet.structured.automata.syntax import ANY
from kernelet.structured.schema.algebra.facts import (
    AtLeast,
    AtMost,
    CountAtLeast,
    CountAtMost,
    Distinct,
    Format,
    Has,
    Item,
    Items,
    KeySet,
    Matches,
    Member,
    Members,
    Multiple,
    NoneOf,
    NotMultiple,
    OneOf,
    Refused,
    SizeAtLeast,
    SizeAtMost,
    SomeMember,
    Truth,
    negation,
)
from kernelet.structured.schema.algebra.terms import NEVER

LITERAL = 10
OPPOSITE = 11


@pytest.mark.parametrize(
    "fact, opposite",
    [
        (Truth(True), Truth(False)),
        (AtLeast(Fraction(1), exclusive=False), AtMost(Fraction(1), exclusive=True)),
        (AtLeast(Fraction(1), exclusive=True), AtMost(Fraction(1), exclusive=False)),
        (Multiple(Fraction(2)), NotMultiple(Fraction(2))),
        (OneOf(frozenset("a")), NoneOf(frozenset("a"))),
        (SizeAtLeast(3), SizeAtMost(2)),
        (Matches(ANY), Matches(ANY, inside=False)),
        (Items(1, LITERAL), CountAtLeast(1, OPPOSITE, 1)),
        (CountAtLeast(0, LITERAL, 3), CountAtMost(0, LITERAL, 2)),
        (Distinct(), Distinct(distinct=False)),
        (Has("a"), Member("a", NEVER)),
        (Members(KeySet(), LITERAL), SomeMember(KeySet(), OPPOSITE)),
    ],
)
def test_opposites(fact, opposite):
    assert negation(fact) == (opposite,) and negation(opposite) == (fact,)


def test_an_item_that_is_wrong_must_be_there():
    assert negation(Item(2, LITERAL)) == (SizeAtLeast(3), Item(2, OPPOSITE))
    assert negation(Member("a", LITERAL)) == (Has("a"), Member("a", OPPOSITE))


def test_what_always_holds_has_no_opposite():
    assert negation(SizeAtLeast(0)) is None and negation(CountAtLeast(0, LITERAL, 0)) is None


def test_refusals_stay():
    refused = Refused("/a", "why")
    assert negation(refused) == (refused,)
    (fact,) = negation(Format("date", "/format")) or ()
    assert isinstance(fact, Refused) and fact.path == "/format"


def test_places_make_no_difference():
    assert Has("a", (0, 1, 2)) == Has("a") and Matches(ANY, path="/x") == Matches(ANY)
    assert SizeAtLeast(1) != SizeAtMost(1)
