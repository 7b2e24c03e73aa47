from __future__ import annotations

import pytest

from kernelet.structured.schema.algebra.facts import Refused
from kernelet.structured.schema.algebra.terms import SchemaTerm
from kernelet.structured.schema.dialects import KEYWORDS, Dialect
from kernelet.structured.schema.document import Document
from kernelet.structured.schema.keywords.arrays import ARRAYS
from kernelet.structured.schema.keywords.combine import COMBINERS
from kernelet.structured.schema.keywords.evaluated import UNEVALUATED
from kernelet.structured.schema.keywords.objects import OBJECTS
from kernelet.structured.schema.keywords.scalars import NUMBERS, STRINGS
from kernelet.structured.schema.keywords.schema import schema_clauses
from kernelet.structured.schema.reading import SILENT, Reading

BESIDE = {"minContains", "maxContains"}  # read with contains


@pytest.mark.parametrize("dialect", Dialect)
def test_every_keyword_is_read(dialect):
    read = {*ARRAYS, *COMBINERS, *UNEVALUATED.values(), *OBJECTS, *NUMBERS, *STRINGS, *BESIDE}
    assert KEYWORDS[dialect].keys() - SILENT <= read


def clauses(schema, kind, positive):
    reading = Reading(Document(schema), lambda key: False)
    return schema_clauses(reading, SchemaTerm("", ()), kind, positive=positive)


def test_other_types_are_free():
    schema = {"minLength": 2, "minimum": 1}
    assert clauses(schema, "null", True) == (frozenset(),) and clauses(schema, "null", False) == ()
    assert len(clauses(schema, "string", True)) == len(clauses(schema, "number", False)) == 1


@pytest.mark.parametrize("positive", [True, False])
def test_a_refused_keyword_refuses_both(positive):
    for clause in clauses({"pattern": "(?=a)"}, "string", positive):
        (fact,) = clause
        assert isinstance(fact, Refused) and fact.path == "/pattern"
