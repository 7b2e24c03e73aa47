from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.structured.schema.write.grid import OFF, alike, decimal, decimal_places, grid_of, least_common
from kernelet.structured.schema.write.parts import UnwritableError

UNITS = st.builds(Fraction, st.sampled_from([1, 2, 3, 5, 7, 12, 25]), st.sampled_from([1, 10, 100]))
DECIMALS = st.builds(lambda number, places: Fraction(number, 10**places), st.integers(0, 10**6), st.integers(0, 4))


def walked(grid, text):
    """What the grid says of a number in digits."""
    whole, _, fraction = text.partition(".")
    residue, place = 0, 0
    for digit in whole:
        residue = grid.step(0, residue, int(digit))
    for digit in fraction:
        place += 1
        residue = grid.step(place, residue, int(digit))
        if residue is None:
            return False
    return grid.accepts(place, residue)


@given(st.lists(UNITS, max_size=2), st.lists(UNITS, max_size=2), st.lists(DECIMALS, min_size=1, max_size=10))
def test_digits_tell_multiples(multiples, others, numbers):
    try:
        grid = grid_of(tuple(multiples), tuple(others))
    except UnwritableError:
        return
    for number in numbers:
        expected = all(number % one == 0 for one in multiples) and all(number % one for one in others)
        if grid is not None:
            assert walked(grid, decimal(number)) == grid.holds(number) == expected
        assert expected or grid is not None


def test_what_asks_nothing_has_no_grid():
    assert grid_of((), ()) is None


def test_whole_numbers():
    assert grid_of((Fraction(1),), ()).is_whole
    assert not grid_of((Fraction(1, 2),), ()).is_whole
    assert not grid_of((), (Fraction(1),)).is_whole


def test_no_multiple_of_anything_stays_so():
    grid = grid_of((), (Fraction(1),))
    assert grid.step(1, 0, 5) == OFF
    assert grid.accepts(1, OFF)


@given(st.integers(1, 400), st.data())
def test_residues_are_alike_whom_the_same_digits_make_multiples(modulus, data):
    found = alike(modulus)
    one, digits = data.draw(st.integers(0, modulus - 1)), data.draw(st.integers(0, 5))
    further = {number for number in range(10**digits) if (one * 10**digits + number) % modulus == 0}
    assert all((found[one] * 10**digits + number) % modulus == 0 for number in further)
    assert found[found[one]] == found[one] <= one
    assert (found[one] == 0) == (one == 0)


@pytest.mark.parametrize("modulus, kinds", [(7, 7), (200, 4), (1000, 4), (360, 16), (86400, 141), (997, 997)])
def test_few_residues_are_told_apart(modulus, kinds):
    assert len(set(alike(modulus))) == kinds


def test_too_many_residues_are_refused():
    with pytest.raises(UnwritableError, match=r"multiples of 0\.123456789"):
        grid_of((Fraction("0.123456789"), Fraction(1)), ())


@given(st.lists(UNITS, min_size=1, max_size=3))
def test_least_common_multiple(units):
    found = least_common(*units)
    assert all(found % one == 0 for one in units)
    assert not any(all((found / divisor) % one == 0 for one in units) for divisor in (2, 3, 5, 7))


@pytest.mark.parametrize("text", ["0", "-1", "12.05", "-0.001", "100", "1000000000000000000000"])
def test_decimals(text):
    assert decimal(Fraction(text)) == text
    assert decimal_places(Fraction(text)) == len(text.partition(".")[2])


def test_numbers_without_end_are_refused():
    with pytest.raises(UnwritableError, match="1/3 is no decimal number"):
        decimal(Fraction(1, 3))
