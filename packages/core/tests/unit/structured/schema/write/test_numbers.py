from __future__ import annotations

import json
from fractions import Fraction
from random import Random

import pytest
from graph_values import allows
from hypothesis import given, settings
from hypothesis import strategies as st
from written import agree, graph_of, language_of_graph, texts

from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.rules import count_expressions
from kernelet.structured.schema.shapes import NumberShape

BOUNDS = st.builds(lambda number, places: Fraction(number, 10**places), st.integers(-3000, 3000), st.integers(0, 3))
UNITS = st.builds(Fraction, st.sampled_from([1, 2, 3, 5, 7, 10, 25]), st.sampled_from([1, 1, 10, 100]))


@st.composite
def shapes(draw):
    low, high = draw(st.none() | BOUNDS), draw(st.none() | BOUNDS)
    return NumberShape(
        integer=draw(st.booleans()),
        minimum=low,
        maximum=high,
        exclusive_minimum=low is not None and draw(st.booleans()),
        exclusive_maximum=high is not None and draw(st.booleans()),
        multiples=tuple(draw(st.lists(UNITS, max_size=1))),
        not_multiples=tuple(draw(st.lists(UNITS, max_size=1))) if draw(st.integers(0, 3)) == 0 else (),
        excluded=draw(st.frozensets(BOUNDS, max_size=2)),
    )


def near(shape):
    """Numbers that may be on either side of what a shape says."""
    places = [place for place in (shape.minimum, shape.maximum, *shape.excluded, Fraction(0)) if place is not None]
    steps = (Fraction(0), Fraction(1, 1000), Fraction(1, 10), Fraction(1), *shape.multiples)
    numbers = {place + sign * step for place in places for step in steps for sign in (1, -1)}
    numbers |= {unit * factor for unit in shape.multiples for factor in (-7, 1, 3, 10, 101)}
    return [int(one) if one.denominator == 1 else float(one) for one in sorted(numbers)]


@given(shapes(), st.lists(st.integers(-(10**6), 10**6), max_size=4), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_numbers_are_those_of_the_shape(shape, further, seed):
    agree(graph_of(shape), [*near(shape), *further], Random(seed))


@pytest.mark.long
@given(shapes(), st.lists(st.integers(-(10**6), 10**6), max_size=4), st.integers(0, 2**32))
@settings(max_examples=3000, deadline=None)
def test_many_numbers_are_those_of_the_shape(shape, further, seed):
    agree(graph_of(shape), [*near(shape), *further], Random(seed))


@pytest.mark.parametrize(
    "shape",
    [
        NumberShape(),
        NumberShape(minimum=Fraction(0)),
        NumberShape(maximum=Fraction(-1)),
        NumberShape(minimum=Fraction(1, 10), exclusive_minimum=True),
    ],
)
def test_doubles_as_they_are_serialized(shape):
    graph = graph_of(shape)
    written = language_of_graph(graph)

    @given(st.floats(-1e307, 1e307, allow_subnormal=False))
    @settings(max_examples=40)
    def check(value):
        assert any(text in written for text in texts(value)) == allows(graph, value)

    check()


@pytest.mark.parametrize("text", ["0", "-0", "12", "-1.50", "1e5", "1E-05", "2.5e+10", "1e+300", "0.0"])
def test_any_number(text):
    assert text in language_of_graph(graph_of(NumberShape()))


@pytest.mark.parametrize("text", ["", "-", "01", "+1", ".5", "1.", "1e", "1e400", "--1", "1.5.2", "0x1", "NaN", "1 "])
def test_what_is_no_number(text):
    assert text not in language_of_graph(graph_of(NumberShape()))


def test_integers_have_no_fraction_and_no_exponent():
    written = language_of_graph(graph_of(NumberShape(integer=True)))
    assert all(text in written for text in ("0", "-7", "12345678910111213141516171819"))
    assert not any(text in written for text in ("1.0", "1e3", "1.5", "007"))


@pytest.mark.parametrize(
    "value, forms",
    [("1", ["1", "1.0"]), ("-2.5", ["-2.5"]), ("1e22", ["10000000000000000000000", "1e+22"]), ("1e-7", ["1e-07"])],
)
def test_constants_are_written_as_serializers_do(value, forms):
    written = language_of_graph(graph_of(NumberShape(values=frozenset([Fraction(value)]))))
    assert all(form in written for form in forms)
    assert {Fraction(text) for text in written.samples(Random(0), 10)} == {Fraction(value)}


def test_constants_that_are_integers_have_no_fraction():
    written = language_of_graph(graph_of(NumberShape(integer=True, values=frozenset([Fraction(1), Fraction(10**22)]))))
    assert set(written.samples(Random(0), 20)) == {"1", "1" + "0" * 22}


def test_doubles_next_to_an_open_bound_stay_inside():
    bounds = {"minimum": Fraction(0), "exclusive_minimum": True, "maximum": Fraction(1000), "exclusive_maximum": True}
    written = language_of_graph(graph_of(NumberShape(**bounds)))
    assert "999.999999999999" in written
    assert "999.99999999999999999" not in written  # is 1000.0
    for text in written.samples(Random(1), 200):
        assert 0 < json.loads(text) < 1000


def test_doubles_beside_whole_numbers_stay_beside():
    written = language_of_graph(graph_of(NumberShape(not_multiples=(Fraction(1),))))
    assert "123456.5" in written
    assert "9007199254740993.5" not in written  # is 9007199254740994.0
    assert not any(json.loads(text).is_integer() for text in written.samples(Random(2), 200))


@pytest.mark.parametrize(
    "shape",
    [
        NumberShape(integer=True, minimum=Fraction(-(2**63)), maximum=Fraction(2**63 - 1)),
        NumberShape(minimum=Fraction(0), maximum=Fraction(1)),
        NumberShape(minimum=Fraction(0), multiples=(Fraction("0.01"),)),
        NumberShape(minimum=Fraction(10), multiples=(Fraction(5),)),
        NumberShape(integer=True, multiples=(Fraction(7),)),
    ],
)
def test_usual_conditions_stay_small(shape):
    assert count_expressions(language_of_graph(graph_of(shape)).rules) < 300


def test_what_is_too_large_is_refused():
    with pytest.raises(UnenforcedError, match="multiples of"):
        language_of_graph(graph_of(NumberShape(multiples=(Fraction("0.123456789"),), integer=True)))
    with pytest.raises(UnenforcedError, match="more than 40 digits"):
        language_of_graph(graph_of(NumberShape(minimum=Fraction(10**50))))
