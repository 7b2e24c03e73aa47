from __future__ import annotations

import pytest

from kernelet.errors import PluginError
from kernelet.kernel.failure import Contained, Failure


@pytest.mark.parametrize(
    "error, reason",
    [
        (ValueError("two\n  lines"), "ValueError: two lines"),
        (PluginError("our own words"), "our own words"),
        (PluginError(), "PluginError"),
        (SystemExit(3), "SystemExit: 3"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_reason_is_one_line(error, reason):
    assert Failure.of(error).reason == reason


def test_missing_module_is_named():
    with Contained() as box:
        import a_module_that_is_not_here  # noqa: F401
    assert box.failure.fix == "install the package that provides the module 'a_module_that_is_not_here'"


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), GeneratorExit(), BaseException("x")])
def test_everything_is_contained_with_its_traceback(error):
    with Contained() as box:
        raise error
    assert box.failure.error is error
    assert "test_failure.py" in box.failure.trace


def test_keyboard_interrupt_goes_through():
    with pytest.raises(KeyboardInterrupt), Contained():
        raise KeyboardInterrupt


def test_nothing_happened():
    with Contained() as box:
        pass
    assert box.failure is None
