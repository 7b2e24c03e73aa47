from __future__ import annotations

import msgspec
import pytest

from kernelet import errors
from kernelet.executor.failures import Failure, describe, revive


def travelled(error):
    return revive(msgspec.msgpack.decode(msgspec.msgpack.encode(describe(error)), type=Failure))


def every_error():
    found, todo = [], [errors.KerneletError]
    while todo:
        kind = todo.pop()
        found.append(kind)
        todo += [one for one in kind.__subclasses__() if one.__module__ == "kernelet.errors"]
    return found


TWO_WORDS = (
    errors.ParameterError,
    errors.FailedParameterError,
    errors.MalformedConstraintError,
    errors.SandboxTargetError,
    errors.UnenforcedConstraintError,
)
"""Made from more than a message."""


@pytest.mark.parametrize("kind", [one for one in every_error() if one not in TWO_WORDS], ids=lambda one: one.__name__)
def test_our_own_errors_keep_class_and_message(kind):
    found = travelled(kind("what went wrong: do this"))
    assert type(found) is kind
    assert str(found) == "what went wrong: do this"


def test_errors_keep_what_they_carry():
    found = travelled(errors.ParameterError("top_p", "got 5"))
    assert type(found) is errors.ParameterError
    assert (str(found), found.parameter) == ("top_p: got 5", "top_p")
    held = travelled(errors.UnenforcedConstraintError("json", ["/a: no"], [("/a", "no")]))
    assert type(held) is errors.UnenforcedConstraintError
    assert str(held) == "json: cannot be enforced: /a: no"
    assert (held.parameter, list(held.reasons)) == ("json", ["/a: no"])
    assert [tuple(one) for one in held.refusals] == [("/a", "no")]
    malformed = travelled(errors.MalformedConstraintError("json", "is no type", "/type"))
    assert type(malformed) is errors.MalformedConstraintError
    assert (str(malformed), malformed.reason, malformed.place) == ("json: /type: is no type", "is no type", "/type")
    failed = travelled(errors.RequestFailedError("x", outputs=[object()]))
    assert str(failed) == "x"


@pytest.mark.parametrize("error", [MemoryError("32 GB"), OSError("no device"), RuntimeError("x"), ValueError("y")])
def test_errors_of_python(error):
    found = travelled(error)
    assert type(found) is type(error)
    assert str(found) == str(error)


class OwnError(errors.PluginError):
    """Of a plugin."""


def test_a_class_of_a_plugin_becomes_its_nearest_base():
    found = travelled(OwnError("not here"))
    assert type(found) is errors.PluginError
    assert str(found) == "OwnError: not here"


def test_a_class_that_is_known_there_only_becomes_its_nearest_base():
    class OutOfMemoryError(RuntimeError):
        """As a device's library has it."""

    found = travelled(OutOfMemoryError("tried to take 2 GiB"))
    assert type(found) is RuntimeError
    assert str(found).endswith("OutOfMemoryError: tried to take 2 GiB")


def test_an_error_that_wants_to_be_made_otherwise_still_says_what_it_said():
    text = b"\xff"
    with pytest.raises(UnicodeDecodeError) as raised:
        text.decode()
    found = travelled(raised.value)
    assert str(raised.value) in str(found)
    assert str(OSError(2, "No such file", "/x")) in str(travelled(OSError(2, "No such file", "/x")))


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_what_ends_a_process_there_is_an_error_here(error):
    assert type(travelled(error)) is RuntimeError


def test_a_name_from_nowhere():
    assert type(revive(Failure(kinds=["os:system", "builtins:print"], message="x"))) is RuntimeError


def test_the_trace_is_a_note():
    failure = Failure(kinds=["builtins:ValueError"], message="no", trace="Traceback:\n  here\n")
    found = revive(failure, "rank 3")
    assert type(found) is ValueError
    assert found.__notes__ == ["raised by rank 3:\nTraceback:\n  here"]
    assert not hasattr(travelled(ValueError("no")), "__notes__")
