from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.errors import ConfigError, PluginError
from kernelet.kernel.settings import check_options, parse, resolve


@pytest.mark.parametrize(
    "kind, given_value, value",
    [
        (bool, "true", True),
        (bool, "ON", True),
        (bool, "0", False),
        (bool, "no", False),
        (bool, False, False),
        (int, "7", 7),
        (int, " -7 ", -7),
        (int, 7, 7),
        (float, "0.5", 0.5),
        (float, "1e-3", 0.001),
        (float, 2, 2.0),
        (str, "7", "7"),
        (str, "", ""),
    ],
)
def test_values(kind, given_value, value):
    result = parse(Option(type=kind), given_value)
    assert result == value
    assert type(result) is kind


@pytest.mark.parametrize(
    "kind, given_value",
    [
        (bool, "maybe"),
        (bool, 1),
        (int, "7.0"),
        (int, "seven"),
        (int, True),
        (int, 7.0),
        (float, "nan"),
        (float, float("inf")),
        (float, True),
        (float, ""),
        (str, 7),
        (str, None),
        (int, [1]),
    ],
)
def test_wrong_values(kind, given_value):
    with pytest.raises(ValueError, match="must be"):
        parse(Option(type=kind), given_value)


def test_choices():
    option = Option(type=str, choices=("fast", "slow"))
    assert parse(option, "fast") == "fast"
    with pytest.raises(ValueError, match="one of fast, slow"):
        parse(option, "medium")
    assert parse(Option(type=int, choices=("1", "2")), "2") == 2


def test_messages_say_where_an_option_stands():
    schemas, origins = {"p": {"a": Option(type=int)}}, {("p", "a"): "the file: a", ("p", "b"): "the file: b"}
    with pytest.raises(ConfigError, match=r"^the file: a: must be a whole number, not 'x'$"):
        resolve(schemas, {"p": {"a": "x"}}, origins=origins)
    with pytest.raises(ConfigError, match=r"^the file: b: no such option"):
        resolve(schemas, {"p": {"b": 1}}, origins=origins)


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans()))
def test_text_of_a_value_is_the_value(value):
    assert parse(Option(type=type(value)), str(value)) == value


SCHEMAS = {"p": {"threads": Option(type=int, default=2), "mode": Option(type=str)}, "q": {}}


def test_defaults_are_filled_in_for_every_plugin():
    found = resolve(SCHEMAS, {"p": {"threads": "8"}})
    assert found["p"].values == {"threads": 8, "mode": None}
    assert found["p"]["threads"] == 8
    assert found["q"].values == {}
    assert found["p"].plugin == "p"


@pytest.mark.parametrize(
    "settings, message",
    [
        (
            {"p": {"thread": 1}},
            r"p.thread: no such option \(did you mean threads\?\). Options of p: mode \(str\), threads",
        ),
        ({"q": {"x": 1}}, "Options of q: none"),
        ({"p": {"threads": "x"}}, "p.threads: must be a whole number, not 'x'"),
        ({"r": {}}, "no plugin has this name.*Plugins with options: p"),
        ({"s": {"x": 1}}, "plugin 's' is not active: blocked"),
    ],
)
def test_unknown_names_and_wrong_values(settings, message):
    with pytest.raises(ConfigError, match=message):
        resolve(SCHEMAS, settings, {"s": "blocked"})


def test_options_of_a_plugin():
    schema = {"a": Option(type=int, default=3)}
    assert check_options(PluginOptions(schema=schema)) == schema


@pytest.mark.parametrize(
    "options",
    [
        None,
        {"a": Option(type=int)},
        PluginOptions(schema={"a": Option(type=list)}),
        PluginOptions(schema={"a": Option(type=int, default="x")}),
        PluginOptions(schema={"a": Option(type=str, default="x", choices=("y",))}),
    ],
)
def test_wrong_options(options):
    with pytest.raises(PluginError):
        check_options(options)
