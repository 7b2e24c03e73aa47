"""JSON values as JSON compares them: 1 is 1.0, true is not 1, the order of names does not matter."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal

Type = Literal["null", "boolean", "number", "string", "array", "object"]

TYPES: Final[tuple[Type, ...]] = ("null", "boolean", "number", "string", "array", "object")


@dataclass(frozen=True)
class Value:
    """A JSON value that can be hashed.

    Attributes:
        type: Of the value.
        content: None, a boolean, a fraction, a text, the items, or the members sorted by name.
        names: Of an object, in the order in which they were written.
    """

    type: Type
    content: bool | Fraction | str | tuple[Value, ...] | tuple[tuple[str, Value], ...] | None
    names: tuple[str, ...] = field(default=(), compare=False)

    @property
    def items(self) -> tuple[Value, ...]:
        """Of an array."""
        assert self.type == "array"
        assert isinstance(self.content, tuple)
        return self.content  # type: ignore[return-value]

    @property
    def members(self) -> dict[str, Value]:
        """Of an object, in the order in which they were written."""
        assert self.type == "object"
        assert isinstance(self.content, tuple)
        found: dict[str, Value] = dict(self.content)  # type: ignore[arg-type]
        return {name: found[name] for name in self.names}


def is_number(value: object) -> bool:
    """Whether a value is a number of JSON: booleans are none, nor are infinity and NaN."""
    if isinstance(value, bool):
        return False
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Decimal):
        return value.is_finite()
    return isinstance(value, int | Fraction)


def fraction_of(value: object) -> Fraction:
    """A number by the decimal digits that it is written with: 0.1 is a tenth."""
    if isinstance(value, float):
        return Fraction(repr(value))
    assert isinstance(value, int | Decimal | Fraction)
    return Fraction(value)


def value_of(value: object) -> Value:
    """A value as ``json.loads`` gives it.

    Raises:
        ValueError: it is none of JSON.
    """
    if value is None:
        return Value("null", None)
    if isinstance(value, bool):
        return Value("boolean", value)
    if isinstance(value, str):
        return Value("string", value)
    if is_number(value):
        return Value("number", fraction_of(value))
    if isinstance(value, list):
        return Value("array", tuple(value_of(item) for item in value))
    if isinstance(value, dict):
        members = {str(name): value_of(item) for name, item in value.items()}
        return Value("object", tuple(sorted(members.items(), key=lambda member: member[0])), tuple(members))
    raise ValueError(f"{value!r} is no value of JSON")
