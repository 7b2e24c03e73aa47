from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema._utils import equal

from kernelet.structured.schema.values import fraction_of, is_number, value_of

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from((0.0, 1.0, 0.5)) | st.sampled_from(("", "a")),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)


@settings(max_examples=50)
@given(json_values, json_values)
def test_equal_as_json_compares(one, other):
    assert (value_of(one) == value_of(other)) == equal(one, other)


def test_a_number_is_the_decimal_that_is_written():
    assert fraction_of(json.loads("0.1")) == Fraction(1, 10)
    assert fraction_of(json.loads("1e308")) == 10**308
    assert fraction_of(Decimal("0.1")) == Fraction(1, 10)


@pytest.mark.parametrize("value", [True, float("nan"), float("inf"), Decimal("Infinity"), "1", None])
def test_not_numbers(value):
    assert not is_number(value)


def test_names_keep_their_order_though_it_does_not_count():
    one, other = value_of({"b": 1, "a": [2]}), value_of({"a": [2], "b": 1.0})
    assert one == other and hash(one) == hash(other)
    assert list(one.members) == ["b", "a"] and list(other.members) == ["a", "b"]
    assert one.members["a"].items == (value_of(2),)


def test_what_json_does_not_have():
    with pytest.raises(ValueError, match="no value of JSON"):
        value_of({1, 2})
