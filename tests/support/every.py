"""A check of many things as one test: a test each would cost more than the check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeVar

T = TypeVar("T")


def every(things: Sequence[T]) -> Callable[[Callable[[T], None]], Callable[[], None]]:
    """Makes a test of a check; it fails with what is wrong with any of the things."""

    def decorate(check: Callable[[T], None]) -> Callable[[], None]:
        def test() -> None:
            wrong = []
            for thing in things:
                try:
                    check(thing)
                except AssertionError as error:
                    wrong.append(str(error).partition("\nassert ")[0])
            assert things, "there is nothing to check"
            assert not wrong, "\n".join(wrong)

        wraps(check)(test)
        del test.__wrapped__  # pytest would look for fixtures of its parameters
        return test

    return decorate
