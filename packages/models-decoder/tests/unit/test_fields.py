from __future__ import annotations

import pytest

from kernelet.errors import UnsupportedModelError
from kernelet_models_decoder.fields import Config, Field


def test_a_literal_is_itself():
    assert Config({}).resolve(3.5) == 3.5
    assert Config({}).resolve(None) is None


def test_the_first_alternative_that_is_not_null_counts():
    field = Field("a|b", 1)
    assert Config({"a": 5, "b": 6}).resolve(field) == 5
    assert Config({"a": None, "b": 6}).resolve(field) == 6
    assert Config({}).resolve(field) == 1


def test_false_and_zero_are_values():
    assert Config({"a": False}).resolve(Field("a", True)) is False
    assert Config({"a": 0}).get("a", 3) == 0


@pytest.mark.parametrize("transform, expected", [("", 4), ("inverse", 0.25), ("sqrt", 2.0), ("inverse_sqrt", 0.5)])
def test_transforms(transform, expected):
    assert Config({"a": 4}).resolve(Field("a", transform=transform)) == expected
    assert Config({}).resolve(Field("a", 4, transform)) == expected
    assert Config({}).resolve(Field("a", None, transform)) is None


def test_a_required_key_is_named():
    with pytest.raises(UnsupportedModelError, match="'size'"):
        Config({"size": None}).resolve(Field("size"))


def test_choices_are_listed_when_none_fits():
    field = Field("act", "x", choices=(("x", "X"), ("y", "Y")))
    assert Config({"act": "y"}).resolve(field) == "Y"
    with pytest.raises(UnsupportedModelError, match=r"act = 'z'.*'x', 'y'"):
        Config({"act": "z"}).resolve(field)


def test_keys_that_were_read_are_remembered():
    config = Config({"a": 1, "b": 2, "c": 3})
    config.resolve(Field("a|b"))
    assert config.read == {"a", "b"}
