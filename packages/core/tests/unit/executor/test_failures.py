from __future__ import annotations

import pytest

from kernelet.errors import ConfigError, ParameterError, PluginError
from kernelet.executor.failures import Failure, describe, revive


class OwnError(PluginError):
    """Of a plugin."""


class HardToMakeError(OSError):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


@pytest.mark.parametrize(
    "error, kind, said",
    [
        (ConfigError("use 1"), ConfigError, "use 1"),
        (RuntimeError("no memory"), RuntimeError, "no memory"),
        (ParameterError("top_p", "is 3"), ParameterError, "top_p: is 3"),
        (OwnError("not here"), PluginError, "OwnError: not here"),
        (HardToMakeError("a", "b"), OSError, "HardToMakeError: a and b"),
        (KeyError("name"), Exception, "'name'"),
        (SystemExit(3), RuntimeError, "SystemExit: 3"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or type(value).__name__,
)
def test_what_is_raised_there_is_raised_here(error, kind, said):
    found = revive(describe(error), "rank 1")
    assert isinstance(found, kind)
    assert said in str(found)
    assert not hasattr(found, "__notes__")


def test_the_trace_is_a_note():
    found = revive(Failure(("ValueError", "Exception"), "no", "Traceback:\n  here\n"), "rank 3")
    assert type(found) is ValueError
    assert found.__notes__ == ["raised by rank 3:\nTraceback:\n  here"]
