from __future__ import annotations

import pytest

from kernelet.contracts.lifecycle import ConfigChange
from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import SamplingParams
from kernelet.errors import ConfigError, RequestError
from kernelet.testing.null.platform import NullConfig
from kernelet.testing.platform.config_tests import _check_changes, _judge
from kernelet.testing.platform.configs import engine_config
from kernelet.testing.verdict import ConformanceError


def half(**methods):
    return type("Half", (NullConfig,), methods)(Settings(plugin="p", values={"memory_bytes": 1}))


def refuse(error):
    def method(self, *_):
        raise error

    return method


def change(path="cache.block_size", value=32, reason="why"):
    return lambda self, config: (ConfigChange(path=path, value=value, reason=reason),)


@pytest.mark.parametrize("method", [change(), lambda self, config: (), refuse(ConfigError("no"))])
def test_good_changes(method):
    _check_changes(half(check_and_update_config=method), engine_config("float32"))


@pytest.mark.parametrize(
    "method, word",
    [
        (change(reason=" "), "must give a reason"),
        (change(value="large"), "can be applied"),
        (change(path="model"), "can be applied"),
        (lambda self, config: None, "must return a tuple of ConfigChanges"),
        (refuse(KeyError("x")), "refuse with a ConfigError"),
        (lambda self, config: change(value=config.cache.block_size + 1)(self, config), "no wish left"),
    ],
)
def test_wrong_changes(method, word):
    with pytest.raises(ConformanceError, match=word):
        _check_changes(half(check_and_update_config=method), engine_config("float32"))


def test_requests():
    params = SamplingParams()
    assert _judge(half(), 5, params) is None
    assert _judge(half(validate_request=refuse(RequestError("too long"))), 5, params) == "too long"
    with pytest.raises(ConformanceError, match="RequestError, which that request alone gets"):
        _judge(half(validate_request=refuse(ValueError("x"))), 5, params)
    with pytest.raises(ConformanceError, match="not by what it returns"):
        _judge(half(validate_request=lambda self, *_: False), 5, params)
