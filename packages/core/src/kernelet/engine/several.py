"""Calls with several prompts: one parameter each, checked before anything runs, and the first failure of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernelet.errors import ParameterError, RequestError, RequestFailedError


def raise_first_failure(errors: Sequence[str | None], results: Sequence[Any]) -> None:
    """Raises RequestFailedError if a request failed, with everything that was made."""
    failed = [(index, error) for index, error in enumerate(errors) if error is not None]
    if failed:
        index, message = failed[0]
        raise RequestFailedError(message if len(errors) == 1 else f"prompts[{index}]: {message}", outputs=results)


def one_each(name: str, value: object, count: int, default: Any) -> list[Any]:
    """One value a prompt: a list as it is, anything else for all.

    Raises:
        ParameterError: the list has another length.
    """
    if not isinstance(value, list | tuple):
        return [default if value is None else value] * count
    if len(value) != count:
        raise ParameterError(name, f"got {len(value)} for {count} prompts: give one for all, or one each")
    return list(value)


def each(entries: Sequence[Any], name: str, check: Callable[[Any], Any]) -> list[Any]:
    """Checks all entries before anything runs; the error of one among several names its index."""
    found = []
    for index, entry in enumerate(entries):
        try:
            found.append(check(entry))
        except RequestError as error:
            if len(entries) > 1:
                error.args = (f"{name}[{index}]: {error}",)
            raise
    return found
