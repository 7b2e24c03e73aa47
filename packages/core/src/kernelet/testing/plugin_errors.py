"""What a suite says when a plugin raises where its contract does not let it: one sentence, above which the error stays.

Imports nothing heavy: it is loaded by every pytest of the environment.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any
from unittest import SkipTest

from kernelet.testing.suite import KIT, Suite
from kernelet.testing.verdict import ConformanceError

LONGEST = 300


def sentence_about(error: BaseException, test: Callable[..., Any], target: object) -> str | None:
    """What to say of an exception that left a test of a suite; None: nothing, it says all itself.

    Args:
        error: The exception.
        test: The test's function; only those of the kit are spoken for.
        target: What the plugin offers.
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ConformanceError | SkipTest) or not isinstance(error, Exception):
        return None
    if not in_kit(test.__module__) or type(error).__module__.partition(".")[0] == "hypothesis":
        return None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    raised = repr(error)[:LONGEST]
    mine = [frame for frame in frames if belongs(frame, target)]
    if mine and (mine[-1] is frames[-1] or not isinstance(error, AssertionError)):
        name = mine[0].f_code.co_qualname.rpartition("<locals>.")[2]
        return f"your plugin raised {raised} in {name}(), called as the contract says"
    if mine or isinstance(error, AssertionError | NotImplementedError) or not in_kit(module_of(frames[-1])):
        return None
    return f"your plugin does not take or does not return what the contract says: {raised}"


def belongs(frame: FrameType, target: object) -> bool:
    """Whether a frame runs code of the plugin: its package, or its module if it is one of the core's own."""
    module, owner = module_of(frame), str(getattr(target, "__module__", type(target).__module__))
    root = owner.partition(".")[0]
    return module == owner or (root != "kernelet" and module.partition(".")[0] == root)


def module_of(frame: FrameType) -> str:
    """Name of the module that a frame runs."""
    return str(frame.f_globals.get("__name__", ""))


def in_kit(module: str) -> bool:
    """Whether a module is one of the kit's."""
    return module.startswith(f"{KIT}.")


def is_of_suite(cls: object) -> bool:
    """Whether a test's class is a suite."""
    return isinstance(cls, type) and issubclass(cls, Suite)
