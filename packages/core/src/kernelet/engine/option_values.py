"""Reads option values: typed ones from Python and TOML, text from flags and variables."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kernelet.config.plugins import LOCK_FILE
from kernelet.errors import ConfigError

if TYPE_CHECKING:
    from kernelet.engine.options import OptionSpec


class Kind(Enum):
    """What an option's value is."""

    INTEGER = "an integer"
    NUMBER = "a number"
    FLAG = "true or false"
    TEXT = "text"
    FILE = "a file"
    NAMES = "names, separated by commas"
    PAIRS = "NAME or KIND=NAME, separated by commas"
    JSON = "a JSON object"
    LOCK = "a lock file, or true for kernelet.lock"
    SETTINGS = "PLUGIN.KEY=VALUE, separated by semicolons"


WORDS = MappingProxyType(
    dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)
)
"""How a flag is written as text."""


def read_option(spec: OptionSpec, value: object, source: str) -> Any:
    """The value in its one form; None stays None where the default is None.

    Args:
        spec: Which option.
        value: Typed, or text.
        source: Where it came from, for the message.

    Raises:
        ConfigError: naming the source, what came and what is expected.
    """
    if value is None and spec.default is None:
        return None
    found = READERS[spec.kind](value)
    if found is None or (spec.choices and found not in spec.choices) or not in_range(spec, found):
        raise ConfigError(f"{source}: got {value!r}, expected {expected(spec)}")
    return found


def in_range(spec: OptionSpec, value: Any) -> bool:
    """Whether a number is within the option's limits; NaN never is."""
    return (spec.minimum is None or value >= spec.minimum) and (spec.maximum is None or value <= spec.maximum)


def expected(spec: OptionSpec) -> str:
    """What the option takes, for messages."""
    if spec.choices:
        return "one of " + ", ".join(spec.choices)
    if spec.minimum is None:
        return spec.kind.value
    upper = "" if spec.maximum is None else f" and at most {spec.maximum:.12g}"
    return f"{spec.kind.value} of at least {spec.minimum:.12g}{upper}"


def read_integer(value: object) -> int | None:
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_number(value: object) -> float | None:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def read_flag(value: object) -> bool | None:
    if isinstance(value, str):
        return WORDS.get(value.lower())
    return value if isinstance(value, bool) else None


def read_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def read_file_name(value: object) -> str | None:
    """The file's name."""
    return read_text(os.fspath(value) if isinstance(value, os.PathLike) else value)


def read_lock(value: object) -> str | None:
    """The file's name; empty for false."""
    found = read_flag(value)
    if found is not None:
        return LOCK_FILE if found else ""
    return read_file_name(value)


def read_names(value: object) -> tuple[str, ...] | None:
    if isinstance(value, str):
        parts = tuple(part.strip() for part in value.split(",") if part.strip())
        return parts if parts or not value.strip() else None  # commas alone are no names
    if isinstance(value, Sequence) and all(isinstance(part, str) and part for part in value):
        return tuple(value)
    return None


def read_pairs(value: object) -> dict[str, str] | None:
    """``{"": name}`` for a name alone."""
    if isinstance(value, Mapping):
        return dict(value) if all(isinstance(part, str) for entry in value.items() for part in entry) else None
    parts = read_names(value)
    if parts is None:
        return None
    pairs = [("", part) if "=" not in part else part.split("=", 1) for part in parts]
    return {kind.strip(): name.strip() for kind, name in pairs}


def read_json(value: object) -> dict[str, object] | None:
    """An object, as a dictionary or as its JSON text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return dict(value) if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) else None


def read_settings(value: object) -> dict[str, dict[str, object]] | None:
    """``{plugin: {key: value}}``; text values stay text, the plugin's schema reads them."""
    if isinstance(value, Mapping):
        if not all(isinstance(plugin, str) and isinstance(keys, Mapping) for plugin, keys in value.items()):
            return None
        return {plugin: dict(keys) for plugin, keys in value.items()}
    parts = value.split(";") if isinstance(value, str) else value
    if not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts):
        return None
    found: dict[str, dict[str, object]] = {}
    for part in filter(None, map(str.strip, parts)):
        path, equals, text = part.partition("=")
        plugin, dot, key = path.strip().rpartition(".")
        if not (equals and dot and plugin and key):
            return None
        found.setdefault(plugin, {})[key] = text.strip()
    return found


READERS = MappingProxyType(
    {
        Kind.INTEGER: read_integer,
        Kind.NUMBER: read_number,
        Kind.FLAG: read_flag,
        Kind.TEXT: read_text,
        Kind.FILE: read_file_name,
        Kind.NAMES: read_names,
        Kind.PAIRS: read_pairs,
        Kind.JSON: read_json,
        Kind.LOCK: read_lock,
        Kind.SETTINGS: read_settings,
    }
)
