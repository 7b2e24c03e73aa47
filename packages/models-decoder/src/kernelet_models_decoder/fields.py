"""Values of a row that stand in a model's config.json."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kernelet.errors import UnsupportedModelError

REQUIRED: Any = object()
"""Default of a field that every configuration must have."""

_TRANSFORMS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "": lambda value: value,
        "inverse": lambda value: 1.0 / value,
        "sqrt": math.sqrt,
        "inverse_sqrt": lambda value: 1.0 / math.sqrt(value),
    }
)


@dataclass(frozen=True)
class Field:
    """A key of config.json.

    Attributes:
        key: The key; alternatives are separated by ``|``, the first that is there and not null counts.
        default: Value where there is none; REQUIRED: an error.
        transform: ``"inverse"``, ``"sqrt"``, ``"inverse_sqrt"`` or nothing; not applied to a default of None.
        choices: Pairs (value, what the column is then); empty: the value itself.
    """

    key: str
    default: Any = REQUIRED
    transform: str = ""
    choices: tuple[tuple[Any, Any], ...] = ()


Value = Any
"""A literal, or a ``Field``."""


class Config:
    """A config.json that remembers which keys were read."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.read: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key (alternatives separated by ``|``); ``default`` where it is absent or null."""
        keys = key.split("|")
        self.read.update(keys)
        for name in keys:
            if self.values.get(name) is not None:
                return self.values[name]
        return default

    def resolve(self, value: Value) -> Any:
        """A literal as it is; a field's value.

        Raises:
            UnsupportedModelError: if a required key is absent, or its value is none that is served; names the key.
        """
        if not isinstance(value, Field):
            return value
        found = self.get(value.key, value.default)
        if found is REQUIRED:
            raise UnsupportedModelError(f"config.json has no {value.key!r}, which this architecture needs")
        for choice, result in value.choices:
            if found == choice:
                return result
        if value.choices:
            served = ", ".join(repr(choice) for choice, _ in value.choices)
            raise UnsupportedModelError(f"{value.key} = {found!r} in config.json is not served; served are {served}")
        return found if found is None else _TRANSFORMS[value.transform](found)
