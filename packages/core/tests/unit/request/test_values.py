from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.errors import ParameterError
from kernelet.request import values


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_integer_takes_python_and_numpy_integers(value):
    found = values.integer("n", value, 0, 5)
    assert found == 3
    assert type(found) is int


@pytest.mark.parametrize("value", [True, np.bool_(True), 3.0, "3", None, [3], -1, 6, np.float32(3), 10**400])
def test_integer_refuses_other_types_and_values_out_of_range(value):
    with pytest.raises(ParameterError, match="expected an integer from 0 to 5") as caught:
        values.integer("n", value, 0, 5)
    assert caught.value.parameter == "n"


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int32(1)])
def test_real_takes_any_number(value):
    found = values.real("p", value, 0.0, 1.0)
    assert found == float(value)
    assert type(found) is float


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "0.5", None, -0.1, 1.1, 10**400, 1j])
def test_real_refuses_what_is_no_finite_number_in_range(value):
    with pytest.raises(ParameterError, match=r"p: got .*, expected a number in \[0, 1\]"):
        values.real("p", value, 0.0, 1.0)


def test_real_with_an_open_end():
    with pytest.raises(ParameterError, match=r"in \(0, 1\]"):
        values.real("p", 0.0, 0.0, 1.0, low_excluded=True)
    assert values.real("p", 1e-9, 0.0, 1.0, low_excluded=True) == 1e-9


@pytest.mark.parametrize("value", [1, 0, "true", None, np.int8(1)])
def test_boolean_refuses_what_is_merely_trueish(value):
    with pytest.raises(ParameterError, match="expected true or false"):
        values.boolean("flag", value)


def test_boolean_takes_numpys():
    assert values.boolean("flag", np.bool_(True)) is True


@pytest.mark.parametrize("value", ["ab", b"ab", {"a": 1}, 5, np.zeros((2, 2)), iter([1])])
def test_items_refuses_what_is_no_list(value):
    with pytest.raises(ParameterError, match="expected a list of things"):
        values.items("f", value, 10, "things")


def test_items_counts():
    assert values.items("f", (1, 2), 2, "things") == [1, 2]
    assert values.items("f", {2, 1}, 2, "things") == [1, 2]
    with pytest.raises(ParameterError, match="got 3 things, at most 2 are allowed"):
        values.items("f", [1, 2, 3], 2, "things")


def test_texts_counts_bytes_not_characters():
    assert values.texts("stop", ["ä", "b"], 2, 3) == ("ä", "b")
    with pytest.raises(ParameterError, match="got 4 bytes of text in all, at most 3"):
        values.texts("stop", ["ä", "ö"], 2, 3)


@pytest.mark.parametrize("member", ["", 5, None, b"x", "\ud800"])
def test_texts_names_the_bad_member(member):
    with pytest.raises(ParameterError, match="at index 1"):
        values.texts("stop", ["fine", member], 5, 100)


def test_token_ids_are_checked_and_kept_once():
    assert values.token_ids("ids", [3, 1, 3, np.int64(1)], 4, 10) == (3, 1)
    with pytest.raises(ParameterError, match=r"got token id 4 \(int\), expected an integer from 0 to 3"):
        values.token_ids("ids", [3, 4], 4, 10)


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=70) | st.binary(max_size=70),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(JSON)
def test_what_is_shown_is_the_beginning_of_the_repr(value):
    full = repr(value)
    expected = full if len(full) <= values.SHOWN else full[: values.SHOWN] + "..."
    assert values.shown(value) == f"{expected} ({type(value).__name__})"


def test_no_more_of_a_value_is_looked_at_than_is_shown():
    looked = []

    class Member(int):
        def __repr__(self):
            looked.append(int(self))
            return str(int(self))

    assert values.shown([[Member(n) for n in range(10_000)]]).endswith("... (list)")
    assert len(looked) < values.SHOWN


def test_a_huge_or_broken_value_is_shown_shortly():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert len(values.shown("x" * 10_000)) < 100
    assert values.shown(Broken()) == "... (Broken)"


@pytest.mark.parametrize("text", ["0.1", "1e22", "-0.0", "0.30", "5e-324", "1E5", "0e-999"])
def test_a_number_that_a_float_is_written_as_is_one(text):
    assert values.exact_number(text) == float(text)
    assert isinstance(values.exact_number(text), float)


@pytest.mark.parametrize("text", ["0.30000000000000001", "12345678901234567890.5", "1.00000000000000000001e300"])
def test_other_numbers_keep_their_digits(text):
    assert values.exact_number(text) == Decimal(text) != Decimal(float(text))


@pytest.mark.parametrize("text", ["1e400", "-1e999999999999", "1e-400", "0.1e-999999999"])
def test_numbers_far_off_are_refused(text):
    with pytest.raises(ValueError, match="out of range"):
        values.exact_number(text)


def test_an_object_has_each_name_once():
    assert values.once_each([("a", 1), ("b", 1)]) == {"a": 1, "b": 1}
    with pytest.raises(ValueError, match=r'^an object has the name "ä" twice$'):
        values.once_each([("ä", 1), ("b", 1), ("ä", 1)])
