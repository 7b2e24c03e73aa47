"""Holds what is read of a schema against ``jsonschema``, value by value."""

from __future__ import annotations

import jsonschema
import pytest
from graph_values import allows

from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.schema.dialects import Dialect
from kernelet.structured.schema.read import read_schema

VALIDATORS = {Dialect.DRAFT_2020_12: jsonschema.Draft202012Validator, Dialect.DRAFT_7: jsonschema.Draft7Validator}


def same(schema, *values, dialect=Dialect.DRAFT_2020_12):
    """Both schema and its opposite say of each value what ``jsonschema`` does; not the same of all values."""
    validator = VALIDATORS[dialect](schema)
    graph = read_schema(schema, dialect=dialect)
    expected = [validator.is_valid(value) for value in values]
    assert len(set(expected)) == 2, "values that tell nothing"
    assert [allows(graph, value) for value in values] == expected
    return graph


def same_and_opposite(schema, *values, dialect=Dialect.DRAFT_2020_12):
    """``same``, and for ``not`` of the schema, twice."""
    same(schema, *values, dialect=dialect)
    same({"not": schema}, *values, dialect=dialect)
    same({"not": {"not": schema}}, *values, dialect=dialect)


def refused(schema, *paths, dialect=Dialect.DRAFT_2020_12):
    """The schema is refused, for these places."""
    with pytest.raises(UnenforcedError) as caught:
        read_schema(schema, dialect=dialect)
    assert sorted({refusal.path for refusal in caught.value.refusals}) == sorted(paths)
