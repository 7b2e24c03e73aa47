from __future__ import annotations

import pytest

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_router_prefix.plugin import kernelet_options
from kernelet_router_prefix.settings import read_settings, read_url


def settings(**changed):
    defaults = {key: option.default for key, option in kernelet_options().schema.items()}
    return Settings(plugin="router-prefix", values={**defaults, **changed})


def test_engines_or_pairs():
    found = read_settings(settings(max_imbalance=0), ["http://a:1/", "http://a:1", "https://b"], [], [])
    assert found.engines == {"engine": ("http://a:1", "https://b")}
    assert not found.pairs
    assert found.max_imbalance == 0
    assert read_settings(settings(), [], ["http://[::1]:1"], ["http://b"]).pairs


@pytest.mark.parametrize("given", [([], [], []), (["http://a"], ["http://b"], []), ([], ["http://a"], [])])
def test_which_engines_do_what_must_be_clear(given):
    with pytest.raises(ConfigError, match="give --engine URL"):
        read_settings(settings(), *given)


@pytest.mark.parametrize(
    "key, value", [("health_interval", 0.0), ("read_timeout", -1.0), ("max_request_bytes", 0), ("max_imbalance", -1)]
)
def test_numbers_that_cannot_be(key, value):
    with pytest.raises(ConfigError, match=f"router-prefix.{key}: got"):
        read_settings(settings(**{key: value}), ["http://a"], [], [])


@pytest.mark.parametrize("text", ["a:8000", "ftp://a", "http://", "http://a/v1", "http://a:x", "http://a?b", ""])
def test_what_is_no_address(text):
    with pytest.raises(ConfigError, match=r"expected the form http://HOST:PORT"):
        read_url(text)
