from __future__ import annotations

import math
from pathlib import Path

import pytest

from kernelet.engine.option_values import Kind, read_option
from kernelet.engine.options import OptionSpec
from kernelet.errors import ConfigError


def spec(kind, default=None, **limits):
    return OptionSpec(name="some_option", kind=kind, default=default, help="", **limits)


@pytest.mark.parametrize(
    "kind, given, expected",
    [
        (Kind.INTEGER, "12", 12),
        (Kind.INTEGER, 12, 12),
        (Kind.NUMBER, "0.5", 0.5),
        (Kind.NUMBER, 1, 1.0),
        (Kind.FLAG, "on", True),
        (Kind.FLAG, "FALSE", False),
        (Kind.FLAG, True, True),
        (Kind.TEXT, "abc", "abc"),
        (Kind.FILE, "a.py", "a.py"),
        (Kind.FILE, Path("a.py"), "a.py"),
        (Kind.NAMES, "a, b,,", ("a", "b")),
        (Kind.NAMES, "", ()),
        (Kind.NAMES, ["a"], ("a",)),
        (Kind.PAIRS, "flash", {"": "flash"}),
        (Kind.PAIRS, "full=a,b", {"full": "a", "": "b"}),
        (Kind.PAIRS, {"full": "a"}, {"full": "a"}),
        (Kind.JSON, '{"a": [1]}', {"a": [1]}),
        (Kind.JSON, {"a": None}, {"a": None}),
        (Kind.SETTINGS, "a.b=1; a.c.d=x=y", {"a": {"b": "1"}, "a.c": {"d": "x=y"}}),
        (Kind.SETTINGS, ["a.b=1", "a.c=2"], {"a": {"b": "1", "c": "2"}}),
        (Kind.SETTINGS, {"a": {"b": 1}}, {"a": {"b": 1}}),
        (Kind.LOCK, "a.lock", "a.lock"),
        (Kind.LOCK, Path("a.lock"), "a.lock"),
        (Kind.LOCK, True, "kernelet.lock"),
        (Kind.LOCK, "yes", "kernelet.lock"),
        (Kind.LOCK, False, ""),
        (Kind.LOCK, "off", ""),
        (Kind.LOCK, None, None),
        (Kind.INTEGER, None, None),
    ],
)
def test_text_and_typed_values_come_to_one_form(kind, given, expected):
    assert read_option(spec(kind), given, "here") == expected


@pytest.mark.parametrize(
    "kind, given",
    [
        (Kind.INTEGER, "1.5"),
        (Kind.JSON, "[1]"),
        (Kind.JSON, "{"),
        (Kind.JSON, "[" * 100_000),
        (Kind.JSON, {1: 2}),
        (Kind.INTEGER, True),
        (Kind.INTEGER, 1.0),
        (Kind.NUMBER, "x"),
        (Kind.NUMBER, True),
        (Kind.FLAG, "maybe"),
        (Kind.FLAG, 1),
        (Kind.TEXT, ""),
        (Kind.TEXT, 5),
        (Kind.NAMES, 5),
        (Kind.NAMES, ",,"),
        (Kind.NAMES, [5]),
        (Kind.LOCK, ""),
        (Kind.LOCK, 5),
        (Kind.PAIRS, {"a": 5}),
        (Kind.SETTINGS, "a=1"),
        (Kind.SETTINGS, "a.b"),
        (Kind.SETTINGS, {"a": 5}),
        (Kind.SETTINGS, 5),
    ],
)
def test_anything_else_is_an_error_that_says_where_it_came_from(kind, given):
    with pytest.raises(ConfigError, match=r"^here: got .* expected "):
        read_option(spec(kind), given, "here")


def test_limits_and_choices():
    share = spec(Kind.NUMBER, minimum=0.0, maximum=1.0)
    assert read_option(share, 1, "here") == 1.0
    for wrong in (-0.1, 1.1, math.nan, "nan"):
        with pytest.raises(ConfigError, match="at least 0 and at most 1"):
            read_option(share, wrong, "here")
    with pytest.raises(ConfigError, match="one of a, b"):
        read_option(spec(Kind.TEXT, choices=("a", "b")), "c", "here")


def test_none_is_refused_where_there_is_a_default():
    with pytest.raises(ConfigError):
        read_option(spec(Kind.INTEGER, 5), None, "here")
