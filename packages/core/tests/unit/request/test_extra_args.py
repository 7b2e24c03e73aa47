from __future__ import annotations

import pytest

from kernelet.errors import ParameterError
from kernelet.request.extra_args import by_plugin, check_extra_args


def accept(arguments):
    pass


def nested(depth):
    return {"a": nested(depth - 1)} if depth else {}


def test_none_and_empty_mean_nothing():
    assert check_extra_args(None, {}) is None
    assert check_extra_args({}, {}) is None


def test_an_unknown_plugin_is_refused_and_the_known_ones_are_listed():
    with pytest.raises(ParameterError, match=r"'other' \(str\) is no active plugin .*a, b"):
        check_extra_args({"other": {}}, {"b": accept, "a": accept})


def test_the_plugin_validates_its_own():
    def validate(arguments):
        raise ParameterError("extra_args['watermark'].key", "too short")

    with pytest.raises(ParameterError, match="too short"):
        check_extra_args({"watermark": {"key": ""}}, {"watermark": validate})


def test_a_validator_that_breaks_is_the_requests_error():
    def validate(arguments):
        raise RuntimeError("bug")

    with pytest.raises(ParameterError, match="RuntimeError: bug"):
        check_extra_args({"watermark": {}}, {"watermark": validate})


@pytest.mark.parametrize("value", [object(), nested(40), "x" * (2 * 1024 * 1024), {"a": lambda: None}, 2**70])
def test_only_plain_small_data_can_travel(value):
    with pytest.raises(ParameterError, match="extra_args"):
        check_extra_args({"p": {"value": value}}, {"p": accept})


def test_a_structure_that_holds_itself_is_refused():
    loop: dict[str, object] = {}
    loop["self"] = loop
    with pytest.raises(ParameterError, match="nested deeper"):
        check_extra_args({"p": loop}, {"p": accept})


def test_of_a_plugin_that_gives_several_checks_all_must_pass():
    def no_x(arguments):
        if "x" in arguments:
            raise ParameterError("x", "not today")

    checks = by_plugin([("a", accept), ("b", accept), ("a", no_x)])
    assert list(checks) == ["a", "b"]
    assert check_extra_args({"a": {"y": 1}, "b": {"x": 1}}, checks) == {"a": {"y": 1}, "b": {"x": 1}}
    with pytest.raises(ParameterError, match="not today"):
        check_extra_args({"a": {"x": 1}}, checks)
