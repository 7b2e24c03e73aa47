from __future__ import annotations

from fractions import Fraction
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from kernelet.structured.schema.algebra.clauses import FALSE, TRUE, both, conjunction, either, negated
from kernelet.structured.schema.algebra.facts import AtLeast, AtMost, Has, Member, Truth
from kernelet.structured.schema.algebra.terms import ALWAYS, NEVER

TWO = Fraction(2)
FACTS = [Has("a"), Has("b"), Member("a", NEVER), Member("b", NEVER), Member("a", 10), Member("b", 10)]
CLAUSES = st.lists(st.frozensets(st.sampled_from(FACTS), max_size=3), max_size=3).map(tuple)
WORLDS = [dict(zip("ab", world, strict=True)) for world in product((None, True, False), repeat=2)]


def holds(clauses, world):
    """Of an object whose properties are absent, satisfy literal 10, or do not."""

    def one(fact):
        if isinstance(fact, Has):
            return world[fact.name] is not None
        return world[fact.name] is None or (fact.literal != NEVER and world[fact.name] == (fact.literal == 10))

    return any(all(map(one, clause)) for clause in clauses)


@given(CLAUSES, CLAUSES)
def test_either(one, other):
    for world in WORLDS:
        assert holds(either(one, other), world) == (holds(one, world) or holds(other, world))


@given(CLAUSES, CLAUSES)
def test_both(one, other):
    whole = both([one, other], lambda clause: clause, lambda count: None)
    for world in WORLDS:
        assert holds(whole, world) == (holds(one, world) and holds(other, world))


@given(st.frozensets(st.sampled_from(FACTS), max_size=3))
def test_negated(facts):
    for world in WORLDS:
        assert holds(negated(facts), world) != holds(conjunction(facts), world)


def test_what_others_include_is_left_out():
    low, high = AtLeast(TWO, exclusive=False), AtMost(TWO, exclusive=False)
    assert either(conjunction([low, high]), conjunction([low])) == conjunction([low])
    assert either(conjunction([low]), TRUE) == TRUE and either() == FALSE


def test_absent_or_right_is_one_fact():
    lacking = conjunction([Member("a", NEVER), Truth(True)])
    right = conjunction([Has("a"), Member("a", 10), Truth(True)])
    assert either(lacking, right) == conjunction([Member("a", 10), Truth(True)])
    assert ALWAYS != NEVER


def test_both_tells_how_much_it_makes_and_drops_contradictions():
    spent = []
    parts = [
        tuple(frozenset({Has(str(i))}) for i in range(3)),
        tuple(frozenset({Member(str(i), 10)}) for i in range(4)),
    ]
    whole = both(parts, lambda clause: None if Member("0", 10) in clause else clause, spent.append)
    assert len(whole) == 9 and max(spent) == 12
    assert both([TRUE, FALSE, parts[0]], lambda clause: clause, spent.append) == FALSE
