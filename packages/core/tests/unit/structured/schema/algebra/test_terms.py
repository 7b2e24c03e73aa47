from __future__ import annotations

from kernelet.structured.schema.algebra.terms import (
    ALWAYS,
    NEVER,
    NO_VALUE,
    AnyTerm,
    SchemaTerm,
    Terms,
    ValueTerm,
    opposite,
)
from kernelet.structured.schema.values import value_of


def test_the_same_question_has_one_number():
    terms = Terms()
    one, other = terms.literal(SchemaTerm("/a", ())), terms.literal(SchemaTerm("/b", ()))
    assert one != other and terms.literal(SchemaTerm("/a", ())) == one
    assert terms.term(one) == terms.term(opposite(one)) == SchemaTerm("/a", ())
    assert opposite(opposite(one)) == one and opposite(ALWAYS) == NEVER


def test_any_of():
    terms = Terms()
    one, other = terms.literal(SchemaTerm("/a", ())), terms.literal(SchemaTerm("/b", ()))
    assert terms.any_of([]) == terms.any_of([NEVER]) == NEVER
    assert terms.any_of([one, NEVER]) == one
    assert terms.any_of([one, ALWAYS]) == terms.any_of([one, opposite(one)]) == ALWAYS
    assert terms.term(terms.any_of([other, one])) == AnyTerm(frozenset({one, other}))


def test_keys_leave_out_what_is_idle():
    terms = Terms()
    one, other = terms.literal(SchemaTerm("/a", ())), terms.literal(SchemaTerm("/b", ()))
    five, six = (terms.literal(ValueTerm(value_of(value))) for value in (5, 6))
    assert terms.key([one, ALWAYS, one]) == {one}
    assert terms.key([one, opposite(one)]) == terms.key([one, NEVER]) == terms.key([five, six]) == NO_VALUE
    assert terms.key([five, opposite(six)]) == {five}
    assert terms.key([opposite(five), opposite(six)]) == {opposite(five), opposite(six)}
    assert terms.key([one, terms.any_of([one, other])]) == {one}
    assert len(terms.key([six, terms.any_of([one, other])])) == 2
