"""Rules of JSON schemas that were refused, or took long: names and values that others must not be, and multiples."""

from __future__ import annotations

import time
from random import Random

import pytest

from kernelet.contracts.offer import Settings
from kernelet.structured.schema.lower import lower_schema
from kernelet.structured.schema.options import JsonOptions
from kernelet.testing.grammar_engine.answers import Engines, walk
from kernelet.testing.grammar_engine.vocabulary import byte_vocabulary
from kernelet_structured_guidance import lexemes
from kernelet_structured_guidance.engine import GuidanceEngine

LONG_S = 30
"""Far more than any takes, on a busy machine too."""

LONGEST = "one_property_name_of_more_than_sixty_characters_that_nobody_needs"


def members(*names):
    """An open object."""
    return {"type": "object", "properties": {name: {"type": "integer"} for name in names}, "required": [*names[:2]]}


SCHEMAS = {
    "nine": (
        members("description"),
        '{"description": 1, "descriptio": 2, "descriptions": [], "é": {"description": 0}}',
    ),
    "sixteen": (members("confidence_score", "description"), '{"confidence_score": 1, "description": 2, "x": 3}'),
    "longest": (members(LONGEST), f'{{"{LONGEST}": 1, "{LONGEST}_": 2, "{LONGEST[:-1]}": 3}}'),
    "forty": (members(*(f"prop_{number:02}" for number in range(40))), '{"prop_00":1,"prop_01":2,"prop_39":3,"p":4}'),
    "not": ({"type": "string", "not": {"enum": ["alpha_beta_gamma"]}}, '"alpha_beta_gamm\\u00e9"'),
    "not_long": ({"type": "string", "not": {"const": LONGEST}}, f'"{LONGEST}s"'),
    "multiple": ({"type": "integer", "multipleOf": 15}, "-123456780"),
    "multiples": ({"oneOf": [{"type": "integer", "multipleOf": 3}, {"type": "integer", "multipleOf": 5}]}, "123"),
}
WRONG = {
    "nine": '{"description": 1, "description": 2}',
    "sixteen": '{"confidence_score": 1, "description": 2, "confidence\\u005fscore": 3}',
    "longest": f'{{"{LONGEST}": 1, "{LONGEST}": 2}}',
    "forty": '{"prop_00":1,"prop_01":2,"prop_39":3,"prop_39":4}',
    "not": '"alpha_beta_gamma"',
    "not_long": f'"{LONGEST}"',
    "multiple": "-123456785000001",
    "multiples": "30",
}


@pytest.fixture(scope="module")
def engine() -> GuidanceEngine:
    return GuidanceEngine(Settings(plugin="guidance"), byte_vocabulary())


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas(engine, name):
    schema, text = SCHEMAS[name]
    rules = lower_schema(schema, JsonOptions())
    before = time.perf_counter()
    engine.compile(rules)
    assert time.perf_counter() - before < LONG_S

    compiled = Engines(engine).compile(rules)
    answer = compiled.start()
    for place, byte in enumerate(text.encode()):
        if place % 7 == 0:
            answer.look()
        answer.accept([byte])
    assert answer.grammar.can_end()
    wrong = compiled.grammar.start()
    assert not (wrong.accept(list(WRONG[name].encode())) and wrong.can_end())
    walk(compiled, Random(1), 6)


@pytest.mark.parametrize("name", ["nine", "forty", "multiple"])
def test_where_the_budget_is_spent_masks_are_the_same(engine, name, monkeypatch):
    monkeypatch.setattr(lexemes, "ALL_WORK", 500)
    schema, text = SCHEMAS[name]
    compiled = Engines(engine).compile(lower_schema(schema, JsonOptions()))
    answer = compiled.start()
    for place, byte in enumerate(text.encode()):
        if place % 9 == 0:
            answer.look()
        answer.accept([byte])
    assert answer.grammar.can_end()
    walk(compiled, Random(1), 4)
