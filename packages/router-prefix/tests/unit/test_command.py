from __future__ import annotations

import argparse

import pytest

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_router_prefix import serve
from kernelet_router_prefix.command import Route
from kernelet_router_prefix.plugin import kernelet_options


class Context:
    """A command line's plugins: this one."""

    def plugins(self):
        return self

    def settings(self, plugin):
        return Settings(
            plugin=plugin, values={key: option.default for key, option in kernelet_options().schema.items()}
        )


def run(*arguments):
    parser = argparse.ArgumentParser()
    command = Route()
    command.configure(parser)
    return command.run(parser.parse_args(arguments), Context())


def test_flags(monkeypatch):
    monkeypatch.setattr(serve, "run", lambda settings, host, port: (settings.engines, host, port))
    assert run("--engine", "http://a", "http://b", "--engine", "http://c", "--port", "0") == (
        {"engine": ("http://a", "http://b", "http://c")},
        "127.0.0.1",
        0,
    )
    assert run("--prefill", "http://a", "--decode", "http://b", "--host", "::")[1:] == ("::", 8080)


def test_a_port_that_is_none():
    with pytest.raises(ConfigError, match="--port 70000"):
        run("--engine", "http://a", "--port", "70000")
