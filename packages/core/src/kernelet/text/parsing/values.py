"""The text of a parameter as the JSON value that its schema asks for."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.0+)?")
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_ANY: Final = ("object", "array", "integer", "number", "boolean", "null", "string")
_MAX_NESTING: Final = 16


def read_value(text: str, schema: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """JSON text of a value: the declared types in their order, the text itself as a string last.

    Args:
        text: As the model wrote it.
        schema: JSON schema of the parameter.
        root: Schema in which its references (``#/...``) are found.
    """
    for kind in declared_types(schema, root):
        read = _READERS.get(kind)
        if read is not None and (value := read(text.strip())) is not None:
            return value
    return json.dumps(text, ensure_ascii=False)


def is_text_only(schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Whether the value can only be a string, so that its text may be passed on as it comes."""
    return set(declared_types(schema, root)) == {"string"}


def declared_types(schema: Mapping[str, Any], root: Mapping[str, Any], nesting: int = 0) -> tuple[str, ...]:
    """The types that a JSON schema allows, in its order; all of them if it names none."""
    if nesting > _MAX_NESTING:
        return _ANY
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return declared_types(_resolve(reference, root), root, nesting + 1)
    kind = schema.get("type")
    if isinstance(kind, str):
        return (kind,)
    if isinstance(kind, list):
        return tuple(name for name in kind if isinstance(name, str))
    for word in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(word), list):
            branches = [part for part in schema[word] if isinstance(part, dict)]
            found = [name for part in branches for name in declared_types(part, root, nesting + 1)]
            return tuple(dict.fromkeys(found)) or _ANY
    values = schema["enum"] if isinstance(schema.get("enum"), list) else [schema[w] for w in ("const",) if w in schema]
    return tuple(dict.fromkeys(_type_of(value) for value in values)) or _ANY


def _resolve(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _type_of(value: object) -> str:
    if value is None:
        return "null"
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "string")


def _integer(text: str) -> str | None:
    return text if _INTEGER.fullmatch(text) else None


def _number(text: str) -> str | None:
    return text if _NUMBER.fullmatch(text) else None


def _boolean(text: str) -> str | None:
    return text.lower() if text.lower() in {"true", "false"} else None


def _null(text: str) -> str | None:
    return "null" if text.lower() in {"null", "none"} else None


def _container(kind: type) -> Callable[[str], str | None]:
    def read(text: str) -> str | None:
        try:
            return text if isinstance(json.loads(text, parse_constant=refuse), kind) else None
        except (ValueError, RecursionError):
            return python_value(text, kind)

    return read


def refuse(constant: str) -> None:
    """For ``json.loads``: NaN and infinities are not JSON.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{constant} is no JSON")


def python_value(text: str, kind: type = object) -> str | None:
    """JSON text of a Python literal of some type; None: it is none, or JSON cannot say it."""
    try:
        value = ast.literal_eval(text)
        return json.dumps(value, ensure_ascii=False, allow_nan=False) if isinstance(value, kind) else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


_READERS: Final[dict[str, Callable[[str], str | None]]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "null": _null,
    "array": _container(list),
    "object": _container(dict),
}
