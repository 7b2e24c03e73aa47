"""How a suite says what is wrong: one sentence, to the author of the plugin."""

from __future__ import annotations


class ConformanceError(AssertionError):
    """A plugin breaks its contract; the message is one sentence that says how."""


def check(ok: object, sentence: str) -> None:
    """Holds a plugin to its contract.

    Raises:
        ConformanceError: with the sentence, if ``ok`` is false.
    """
    __tracebackhide__ = True
    if not ok:
        raise ConformanceError(sentence)
