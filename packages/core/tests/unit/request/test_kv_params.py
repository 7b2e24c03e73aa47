from __future__ import annotations

import pytest

from kernelet.errors import ParameterError
from kernelet.request.kv_params import ConnectorParams, check_kv_params


def connector(*keys, validate=lambda _: None, name="nixl"):
    return ConnectorParams(name=name, keys=keys, validate=validate)


def test_each_connector_sees_all_that_is_taken():
    seen = []
    connectors = [connector("a", validate=seen.append), connector("b", validate=seen.append)]
    assert check_kv_params({"a": 1, "b": [2], "c": None}, connectors) == {"a": 1, "b": [2]}
    assert seen == [{"a": 1, "b": [2]}] * 2


def test_nothing_is_nothing():
    assert check_kv_params(None, ()) is None
    assert check_kv_params({}, [connector("a")]) is None
    assert check_kv_params({"a": None}, ()) is None


@pytest.mark.parametrize(
    "value, parameter, message",
    [
        (5, "kv_transfer_params", "expected a dictionary"),
        ({1: 2}, "kv_transfer_params", "expected a dictionary with text keys"),
        ({"b": 1}, "kv_transfer_params.b", "those that are taken: a"),
        ({"a": object()}, "kv_transfer_params", "no plain data"),
    ],
)
def test_what_nobody_takes_is_refused(value, parameter, message):
    with pytest.raises(ParameterError, match=message) as caught:
        check_kv_params(value, [connector("a")])
    assert caught.value.parameter == parameter


def test_without_connectors_nothing_is_taken():
    with pytest.raises(ParameterError, match=r"none is taken here.*--kv-connector"):
        check_kv_params({"do_remote_decode": True}, ())


def test_they_are_of_one_answer():
    assert check_kv_params({"a": 1}, [connector("a")], choices=1) == {"a": 1}
    with pytest.raises(ParameterError, match="n is 2"):
        check_kv_params({"a": 1}, [connector("a")], choices=2)


def test_a_connector_refuses():
    def refuse(params):
        raise ParameterError("kv_transfer_params.a", "too old")

    def fail(params):
        raise KeyError("b")

    with pytest.raises(ParameterError, match="too old"):
        check_kv_params({"a": 1}, [connector("a", validate=refuse)])
    with pytest.raises(ParameterError, match="nixl could not check them"):
        check_kv_params({"a": 1}, [connector("a", validate=fail)])
