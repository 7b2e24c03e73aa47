"""Checks of JSON inside a field. Errors name the place: ``tools[0].function.name``."""

from __future__ import annotations

from typing import Any

from kernelet.request.values import shown
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.reading import unknown_field


def wrong(where: str, message: str) -> ApiError:
    """A 400 that names the place."""
    return ApiError(400, f"{where}: {message}", param=where)


def an_object(value: object, where: str) -> dict[str, Any]:
    """A JSON object.

    Raises:
        ApiError: 400: it is something else.
    """
    if not isinstance(value, dict):
        raise wrong(where, f"got {shown(value)}, expected an object")
    return value


def a_list(value: object, where: str) -> list[Any]:
    """A JSON array.

    Raises:
        ApiError: 400: it is something else.
    """
    if not isinstance(value, list):
        raise wrong(where, f"got {shown(value)}, expected an array")
    return value


def a_text(value: object, where: str) -> str:
    """A string.

    Raises:
        ApiError: 400: it is something else.
    """
    if not isinstance(value, str):
        raise wrong(where, f"got {shown(value)}, expected a text")
    return value


def only(value: dict[str, Any], known: frozenset[str], where: str) -> None:
    """An object has no fields but these; others may be null.

    Raises:
        ApiError: 400, naming the first one.
    """
    for name, given in value.items():
        if name not in known and given is not None:
            raise unknown_field(f"{where}.{name[:100]}")
