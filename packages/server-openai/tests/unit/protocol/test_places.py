from __future__ import annotations

import pytest

from kernelet_server_openai.protocol import places
from kernelet_server_openai.protocol.errors import ApiError


@pytest.mark.parametrize(
    "check, value, expected",
    [
        (places.an_object, [], "expected an object"),
        (places.an_object, None, "expected an object"),
        (places.a_list, {}, "expected an array"),
        (places.a_list, "ab", "expected an array"),
        (places.a_text, 1, "expected a text"),
    ],
)
def test_the_place_is_named(check, value, expected):
    with pytest.raises(ApiError) as caught:
        check(value, "a[1].b")
    assert (caught.value.status, caught.value.param) == (400, "a[1].b")
    assert caught.value.message.startswith("a[1].b: ")
    assert expected in caught.value.message


def test_what_is_right_comes_back():
    assert places.an_object({"a": 1}, "x") == {"a": 1}
    assert places.a_list([1], "x") == [1]
    assert places.a_text("t", "x") == "t"


def test_fields_that_nothing_takes():
    places.only({"a": 1, "b": None}, frozenset({"a"}), "x")
    with pytest.raises(ApiError) as caught:
        places.only({"a": 1, "b": 0}, frozenset({"a"}), "x")
    assert (caught.value.param, caught.value.code) == ("x.b", "unknown_field")
