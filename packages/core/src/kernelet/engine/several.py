"""Calls with several prompts: one parameter each, checked before anything runs, and the first failure of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernelet.errors import FailedBusyError, FailedParameterError, ParameterError, RequestError, RequestFailedError


def raise_first_failure(
    errors: Sequence[str | None], results: Sequence[Any], parameters: Sequence[str | None] | None = None
) -> None:
    """Raises RequestFailedError if a request failed, with everything that was made.

    Args:
        errors: Of each request; None: it did not fail.
        results: Of each request.
        parameters: The field that each failed by; None: none failed by a field.
    """
    failed = [(index, error) for index, error in enumerate(errors) if error is not None]
    if failed:
        index, message = failed[0]
        error = failure(message, None if parameters is None else parameters[index], results)
        if len(errors) > 1:
            error.args = (f"prompts[{index}]: {message}",)
        raise error


def failure(
    message: str, parameter: str | None, outputs: Sequence[Any] = (), *, try_again: bool = False
) -> RequestFailedError:
    """The error of a request that failed while it ran.

    Args:
        message: Of the engine.
        parameter: The field that it failed by, with which the message begins; None: by none.
        outputs: What was made.
        try_again: Others were being worked on.
    """
    if try_again:
        return FailedBusyError(message, outputs=outputs)
    if parameter is None:
        return RequestFailedError(message, outputs=outputs)
    return FailedParameterError(parameter, message.removeprefix(f"{parameter}: "), outputs=outputs)


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
