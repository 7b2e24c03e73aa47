"""The text of a parameter as the JSON value that its schema asks for."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_INTEGER: Final = re.compile(r"-?[0-9]+")
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_ANY: Final = ("object", "array", "integer", "number", "boolean", "null", "string")
_MAX_NESTING: Final = 16
_HALVES: Final = re.compile(r"[\ud800-\udfff]")


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
    return as_json(text)


def as_json(value: object) -> str:
    """JSON text; half a surrogate pair is escaped, as it is no text.

    Raises:
        ValueError, TypeError, RecursionError: JSON cannot say it.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if _HALVES.search(text) is None else json.dumps(value, allow_nan=False)


def is_text_only(schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Whether the value can only be a string, so that its text may be passed on as it comes."""
    return set(declared_types(schema, root)) == {"string"}


def declared_types(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[str, ...]:
    """The types that a JSON schema allows, in its order; all of them if it names none."""
    return tuple(dict.fromkeys(_types(schema, root, set(), 0))) or _ANY


def _types(schema: Mapping[str, Any], root: Mapping[str, Any], seen: set[str], nesting: int) -> Iterator[str]:
    """Each reference is followed once: what it allows is known then."""
    if nesting > _MAX_NESTING:
        yield from _ANY
        return
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if reference not in seen:
            seen.add(reference)
            yield from _types(_resolve(reference, root), root, seen, nesting + 1)
        return
    kind = schema.get("type")
    if isinstance(kind, str | list):
        yield from [kind] if isinstance(kind, str) else (name for name in kind if isinstance(name, str))
        return
    for word in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(word), list):
            for part in schema[word]:
                if isinstance(part, dict):
                    yield from _types(part, root, seen, nesting + 1)
            return
    values = schema["enum"] if isinstance(schema.get("enum"), list) else [schema[w] for w in ("const",) if w in schema]
    yield from [_type_of(value) for value in values] or _ANY


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
    """A whole number, as JSON Schema means it: 1.0 and 1e3 are."""
    return text if _NUMBER.fullmatch(text) and (_INTEGER.fullmatch(text) or float(text).is_integer()) else None


def _number(text: str) -> str | None:
    return text if _NUMBER.fullmatch(text) else None


def _boolean(text: str) -> str | None:
    return text.lower() if text.lower() in {"true", "false"} else None


def _null(text: str) -> str | None:
    return "null" if text.lower() in {"null", "none"} else None


def _container(kind: type) -> Callable[[str], str | None]:
    def read(text: str) -> str | None:
        return json_value(text, kind) or python_value(text, kind)

    return read


def json_value(text: str, kind: type = object) -> str | None:
    """JSON text of a JSON value of some type, as it is; None: it is none. Line ends in strings are escaped."""
    for strict in (True, False):
        try:
            value = json.loads(text, parse_constant=refuse, strict=strict)
            if isinstance(value, kind):
                return text if strict else as_json(value)
        except (ValueError, RecursionError):
            continue
    return None


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
        return as_json(value) if isinstance(value, kind) else None
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
