from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.schema.algebra.facts import AtLeast, AtMost, Multiple, NoneOf, NotMultiple, OneOf
from kernelet.structured.schema.finish import numbers
from kernelet.structured.schema.finish.numbers import allows_number, least_common_multiple, number_shape
from kernelet.structured.schema.shapes import NumberShape

GRID = [Fraction(number, 12) for number in range(-60, 61)]
FEW = st.sampled_from([Fraction(number, 2) for number in range(-4, 9)])
DIVISORS = st.sampled_from([Fraction(1), Fraction(2), Fraction(3), Fraction(1, 2), Fraction(3, 4)])
BOUNDED = st.tuples(
    st.builds(AtLeast, FEW, st.booleans()),
    st.builds(AtMost, FEW, st.booleans()),
)
OTHERS = st.one_of(
    st.builds(Multiple, DIVISORS),
    st.builds(NotMultiple, DIVISORS),
    st.builds(OneOf, st.frozensets(FEW, min_size=1)),
    st.builds(NoneOf, st.frozensets(FEW)),
)


def holds(fact, number):
    match fact:
        case AtLeast(bound, exclusive):
            return number > bound if exclusive else number >= bound
        case AtMost(bound, exclusive):
            return number < bound if exclusive else number <= bound
        case Multiple(divisor):
            return number % divisor == 0
        case NotMultiple(divisor):
            return number % divisor != 0
        case OneOf(values):
            return number in values
        case NoneOf(values):
            return number not in values


@given(BOUNDED, st.lists(OTHERS, max_size=3))
def test_shapes_say_what_facts_say(bounds, others):
    """All numbers between the bounds with multiples on the grid are on it."""
    facts = [*bounds, *others]
    shape = number_shape(frozenset(facts), "")
    expected = [number for number in GRID if all(holds(fact, number) for fact in facts)]
    if shape is None:
        assert not expected
    else:
        assert [number for number in GRID if allows_number(shape, number)] == expected
        on_grid = any(isinstance(fact, Multiple | OneOf) for fact in others)
        assert expected or not on_grid, "a shape that allows nothing"


@given(st.lists(DIVISORS, min_size=1, max_size=3))
def test_least_common_multiple(divisors):
    step = least_common_multiple(NumberShape(multiples=tuple(divisors)))
    common = [number for number in GRID if number > 0 and all(number % each == 0 for each in divisors)]
    assert step == (min(common) if common else 6)
    assert least_common_multiple(NumberShape()) is None
    assert least_common_multiple(NumberShape(integer=True)) == 1


def test_whole_numbers():
    shape = number_shape(frozenset({Multiple(Fraction(1)), Multiple(Fraction(3))}), "")
    assert shape == NumberShape(integer=True, multiples=(Fraction(3),))


@pytest.mark.parametrize(
    "facts",
    [
        [Multiple(Fraction(2)), NotMultiple(Fraction(1))],
        [Multiple(Fraction(10**9)), AtLeast(Fraction(1), exclusive=False), AtMost(Fraction(10**9), exclusive=True)],
        [AtLeast(Fraction(1), exclusive=False), AtMost(Fraction(1), exclusive=False), NoneOf(frozenset({Fraction(1)}))],
    ],
)
def test_nothing_is_left(facts):
    assert number_shape(frozenset(facts), "") is None


def test_what_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(numbers, "MAX_TRIED", 100)
    facts = [Multiple(Fraction(1)), *(NotMultiple(Fraction(each)) for each in (2, 3)), NotMultiple(Fraction(1, 3))]
    assert number_shape(frozenset(facts), "") is None  # seen without counting
    bounds = [AtLeast(Fraction(0), exclusive=False), AtMost(Fraction(200), exclusive=False)]
    barred = NoneOf(frozenset(Fraction(each) for each in range(200)))
    with pytest.raises(UnenforcedError) as caught:
        number_shape(frozenset({Multiple(Fraction(1)), barred, *bounds}), "/x")
    assert caught.value.refusals[0].path == "/x"
