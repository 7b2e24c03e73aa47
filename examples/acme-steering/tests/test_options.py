from __future__ import annotations

import pytest
from acme_steering.options import check_layers, parse_layers, required

from kernelet.errors import ConfigError


@pytest.mark.parametrize(
    "text, layers",
    [("3", {3}), ("0", {0}), ("8-10,20", {8, 9, 10, 20}), (" 1 , 3 - 4 ", {1, 3, 4}), ("2-2", {2}), ("1,1-2", {1, 2})],
)
def test_layers(text, layers):
    assert parse_layers(text) == layers


@pytest.mark.parametrize("text", ["", "a", "3-1", "-1", "1,", "1--2", "1.5", "1 2"])
def test_other_text_is_an_error(text):
    with pytest.raises(ConfigError, match="give places and ranges, from 0, as in 8-12,20"):
        parse_layers(text)


def test_layers_that_the_model_has():
    check_layers({}, 1)
    check_layers({"layers": None}, 1)
    check_layers({"layers": "0-3"}, 4)
    check_layers({"layers": 3}, 4)
    with pytest.raises(ConfigError, match="names layer 4, but the model's are 0 to 3"):
        check_layers({"layers": "1,2-4"}, 4)


@pytest.mark.parametrize("value", [None, ""])
def test_what_it_cannot_do_without(value):
    assert required("x", "vector") == "x"
    with pytest.raises(ConfigError, match=r"acme-steering.vector is not set: --set acme-steering.vector=..., or leave"):
        required(value, "vector")
