"""Schemas and answers to them, from what requests ask for every day; every engine and every library serves them all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

Schema = dict[str, Any]


class Case(NamedTuple):
    """A schema, and an answer as ``json.dumps`` writes it."""

    name: str
    schema: Schema
    value: Any

    @property
    def text(self) -> str:
        """The answer."""
        return json.dumps(self.value)


def record(**properties: Schema) -> Schema:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}

CASES: Sequence[Case] = (
    Case("choice", {"enum": ["positive", "negative", "neutral"]}, "neutral"),
    Case(
        "person",
        record(name=TEXT, age=NUMBER, city=TEXT),
        {"name": "Ada Lovelace", "age": 36, "city": "London, near St James's Square"},
    ),
    Case(
        "call of a tool",
        record(
            name={"enum": ["get_weather", "get_forecast", "get_tide"]},
            arguments=record(place=TEXT, unit={"enum": ["celsius", "fahrenheit"]}, days=NUMBER),
        ),
        {"name": "get_forecast", "arguments": {"place": "Reykjavik", "unit": "celsius", "days": 3}},
    ),
    Case(
        "order",
        record(
            id={"type": "string", "pattern": "^[A-Z]{2}-[0-9]{6}$"},
            status={"enum": ["open", "paid", "shipped"]},
            customer=record(name=TEXT, email=TEXT, vip={"type": "boolean"}),
            items={
                "type": "array",
                "items": record(sku={"type": "string", "pattern": "^[a-z0-9]{8}$"}, count=NUMBER),
                "maxItems": 4,
            },
            note={"anyOf": [{"type": "string", "maxLength": 12}, {"type": "null"}]},
        ),
        {
            "id": "DE-204811",
            "status": "paid",
            "customer": {"name": "Grace Hopper", "email": "grace@navy.example", "vip": True},
            "items": [{"sku": "a1b2c3d4", "count": 2}, {"sku": "zz00zz00", "count": 11}],
            "note": "ring twice",
        },
    ),
)
