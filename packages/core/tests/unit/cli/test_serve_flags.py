from __future__ import annotations

import argparse

import pytest

from kernelet.cli.serve_flags import (
    ServerFlags,
    add_server_flags,
    flags_of,
    server_settings,
    unknown_variables,
    unused_variables,
)
from kernelet.cli.usage import Parser, UsageError
from kernelet.contracts.offer import Option
from kernelet.contracts.plugins import Owned
from kernelet.contracts.serving import ServerOffer
from kernelet.errors import ConfigError, PluginError

SCHEMA = {
    "tls": Option(type=bool, default=False, help="encrypt"),
    "size": Option(type=int, default=3, help="100 % of it"),
    "level": Option(type=str, default="low", help="how much", choices=("low", "high")),
    "word": Option(type=str, help="a word"),
}
FLAGS = {"tls": "tls", "max-size": "size", "log-level": "level", "word": "word"}


def found(flags=FLAGS, schema=SCHEMA):
    owned = Owned(offer=ServerOffer(name="s", target="m:S", flags=flags), plugin="p")
    return flags_of("server", owned, {"p": schema})


def parse(*arguments, flags=None, environ=None):
    parser = Parser(prog="x")
    parser.add_argument("--port")
    parser.add_argument("--set", action="append", dest="option_set", default=argparse.SUPPRESS)
    flags = flags or found()
    add_server_flags(parser, flags)
    return server_settings(parser.parse_args(arguments), flags, environ or {}), parser.format_help()


def test_flags_set_options():
    settings, _ = parse("--tls", "--max-size", "7", "--log-level", "high")
    assert settings == {"p": {"tls": True, "size": 7, "level": "high"}}
    assert parse("--no-tls")[0] == {"p": {"tls": False}}
    assert parse()[0] == {}


def test_the_help_is_the_schemas():
    text = " ".join(parse()[1].split())
    assert "server s: Options of the plugin p" in text
    assert "--max-size N 100 % of it (default: 3)" in text
    assert "--log-level {low,high} how much (default: low)" in text
    assert "--word TEXT a word" in text


@pytest.mark.parametrize("arguments", [("--max-size", "x"), ("--log-level", "middle")])
def test_wrong_values_are_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        parse(*arguments)
    assert stop.value.code == 2
    assert "must be" in capsys.readouterr().err


def test_an_option_is_given_once():
    with pytest.raises(UsageError, match=r"p\.size is given by a flag and by --set"):
        parse("--max-size", "7", "--set", "p.size=8")
    assert parse("--max-size", "7", "--set", "p.tls=yes", "--set", "q.size=8")[0] == {"p": {"size": 7}}


def test_a_flag_needs_an_option():
    with pytest.raises(PluginError, match=r"the server s has flags for options that p has not: \['nothing'\]"):
        found({"x": "nothing"})


@pytest.mark.parametrize("other", ["port", "set"])
def test_a_flag_that_is_taken(other):
    with pytest.raises(PluginError, match=f"cannot have the flag --{other}"):
        parse(flags=found({other: "word"}))


def test_flags_of_loggers_come_after(capsys):
    logger = ServerFlags(what="the stat logger l", plugin="q", options={"names": ("names", SCHEMA["word"])})
    both = ServerFlags(what="the server s", plugin="p", options={"word": ("word", SCHEMA["word"])}, loggers=(logger,))
    assert parse("--word", "a", "--names", "b", flags=both)[0] == {"p": {"word": "a"}, "q": {"names": "b"}}


def test_each_flag_has_a_variable():
    environ = {"KERNELET_TLS": "yes", "KERNELET_MAX_SIZE": "7", "KERNELET_WORD": "", "WORD": "x"}
    assert parse(environ=environ)[0] == {"p": {"tls": True, "size": 7}}
    assert parse("--no-tls", "--set", "p.size=8", environ=environ)[0] == {"p": {"tls": False}}
    with pytest.raises(ConfigError, match=r"^KERNELET_LOG_LEVEL: must be one of low, high, not 'middle'$"):
        parse(environ={"KERNELET_LOG_LEVEL": "middle"})


def test_variables_that_nothing_takes():
    service = dict.fromkeys(("KERNELET_SERVICE_HOST", "KERNELET_SERVICE_PORT_HTTP", "KERNELET_PORT_8000_TCP_ADDR"), "x")
    environ = {**service, "KERNELET_WORD": "a", "KERNELET_PORT": "1", "KERNELET_CACHE_DIR": "/", "KERNELET_FOO": ""}
    assert unknown_variables(environ) == ["KERNELET_FOO", "KERNELET_WORD"]
    assert unused_variables(found(), environ) == ["KERNELET_FOO"]
    assert unused_variables(None, environ) == ["KERNELET_FOO", "KERNELET_WORD"]
