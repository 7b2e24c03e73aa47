from __future__ import annotations

import pytest
from keyword_checks import same_and_opposite

VALUES = (
    None,
    True,
    False,
    0,
    1,
    1.0,
    1.5,
    "",
    "1",
    [],
    [1],
    [True],
    [1, 2],
    {},
    {"a": 1},
    {"a": True},
    {"b": 2, "a": 1},
    {"c": {}},
)


@pytest.mark.parametrize(
    "schema",
    [
        *({"const": value} for value in VALUES),
        {"enum": [1, "1", None]},
        {"enum": [True, [1], {"a": 1, "b": 2}]},
        {"enum": [[], [1], {}]},
        {"type": "string", "enum": [1, ""]},
        *({"type": name} for name in ("null", "boolean", "integer", "number", "string", "array", "object")),
        {"type": ["integer", "null"]},
        {"type": ["integer", "number"]},
    ],
    ids=str,
)
def test_values(schema):
    same_and_opposite(schema, *VALUES)
