from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written import finished

from kernelet.structured.rules import RuleWriter, is_recursive
from kernelet.structured.schema.write.digits import DigitWriter, Tail
from kernelet.structured.schema.write.grid import decimal, grid_of
from kernelet.structured.schema.write.parts import UnwritableError

WHOLE = st.integers(0, 10**6)


def written(low, high, tail=Tail(), *multiples):  # noqa: B008 - frozen
    rules = RuleWriter()
    grid = grid_of(tuple(map(Fraction, multiples)), ())
    return finished(rules, DigitWriter(grid, rules).between(low, high, tail))


@given(WHOLE, st.none() | WHOLE, st.lists(WHOLE, max_size=5), st.integers(0, 2**32))
@settings(max_examples=30)
def test_whole_numbers_between_bounds(low, high, numbers, seed):
    found = written(low, high, Tail(most=0))
    edges = (low - 1, low, low + 1, low * 10, *(() if high is None else (high - 1, high, high + 1, high * 10)))
    for number in (*numbers, *edges):
        assert (str(number) in found) == (low <= number and (high is None or number <= high))
        assert f"0{number}" not in found
    for sample in found.samples(Random(seed), 10):
        assert str(int(sample)) == sample
        assert low <= int(sample)
        assert high is None or int(sample) <= high


@given(
    st.tuples(st.none() | st.sampled_from(["", "05", "5", "25"]), st.booleans()),
    st.tuples(st.none() | st.sampled_from(["", "05", "5", "75", "999"]), st.booleans()),
    st.lists(st.text("0123456789", max_size=4), max_size=10),
)
@settings(max_examples=40)
def test_fractions_between_bounds(lower, upper, fractions):
    low, high = lower[0], upper[0]
    tail = Tail(
        low=low, high=high, low_open=lower[1] and low is not None, high_open=upper[1] and high is not None, most=4
    )
    found = written(3, 3, tail)
    for digits in (*fractions, "", "0", "05", "050", "5", "50", "51", "25", "249", "7499", "999", "9991"):
        value = Fraction(f"0.{digits}0")
        expected = True
        if low is not None:
            least = Fraction(f"0.{low}0")
            expected &= value > least or (value == least and not tail.low_open)
        if high is not None:
            largest = Fraction(f"0.{high}0")
            expected &= value < largest or (value == largest and not tail.high_open)
        assert ((f"3.{digits}" if digits else "3") in found) == expected, digits


@given(
    st.sampled_from(["2", "3", "5", "7", "25", "0.5", "1.5", "0.3"]),
    st.integers(0, 200),
    st.none() | st.integers(0, 3000),
)
@settings(max_examples=20)
def test_multiples_between_bounds(unit, low, high):
    step = Fraction(unit)
    found = written(low, high, Tail(most=1), step)
    for factor in range(60):
        for number in (step * factor, step * factor + 1, step * factor * 10 + Fraction(1, 10)):
            expected = number % step == 0 and low <= number and (high is None or int(number) <= high)
            assert (decimal(number) in found) == expected


def test_multiples_that_their_last_digits_tell_need_no_recursion():
    assert not is_recursive(written(0, None, Tail(most=0), 25).rules)
    assert is_recursive(written(0, None, Tail(most=0), 7).rules)


def test_large_bounds_are_refused():
    with pytest.raises(UnwritableError, match="more than 40 digits"):
        written(10**41, None)
