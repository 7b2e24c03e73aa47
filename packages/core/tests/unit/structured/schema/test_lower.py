from __future__ import annotations

import json
from random import Random

import jsonschema
import pytest
from graph_values import suite_groups
from hypothesis import given, settings
from hypothesis import strategies as st
from judge import judged
from random_schemas import constants, random_document, random_schema, random_value
from written import Language, texts

from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.schema.lower import lower_schema
from kernelet.structured.schema.options import JsonOptions

SEEDS = st.integers(0, 2**32).map(Random)
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def lowered(schema) -> Language | None:
    """None: refused."""
    try:
        return Language(lower_schema(schema, JsonOptions(max_whitespace=1)))
    except UnenforcedError:
        return None
    except InvalidConstraintError:
        return Language(None)


def compare(schema, random, count):
    """What is written is valid for ``jsonschema``, and what is valid for it is written."""
    written = lowered(schema)
    if written is None:
        return
    validator = jsonschema.Draft202012Validator(schema)
    for text in written.samples(random, count):
        value = json.loads(text)
        is_odd = r"\n" in json.dumps(value)  # Python's $ stands before a line feed at the end as well
        assert is_odd or judged(validator, value) in {True, None}, (schema, text)
    values = [*list(constants(schema))[:count], *(random_value(random, 1 + index % 2) for index in range(count))]
    for value in values:
        if (is_valid := judged(validator, value)) is not None:
            assert any(text in written for text in texts(value)) == is_valid, (schema, value)


@settings(deadline=None, max_examples=20)
@given(SEEDS)
def test_random_schemas(random):
    compare(random.choice((random_schema, random_document))(random), random, 8)


@pytest.mark.long
@settings(deadline=None, max_examples=2000)
@given(SEEDS)
def test_many_random_schemas(random):
    compare(random.choice((random_schema, random_document))(random), random, 20)


@pytest.mark.parametrize("draft, least", [("draft2020-12", 320), ("draft7", 220)])
def test_official_suite(draft, least):
    """Of each group: it is refused, or each valid instance is written in some way and no invalid one in any."""
    right = 0
    for file, description, schema, tests in suite_groups(draft):
        if draft == "draft7" and isinstance(schema, dict):
            schema = {"$schema": DRAFT_7, **schema}
        written = lowered(schema)
        if written is not None:
            right += 1
            for test in tests:
                accepted = any(text in written for text in texts(test["data"]))
                assert accepted == test["valid"], (file, description, test["description"])
    assert right >= least


def test_any_object_and_any_value():
    anything, objects = lowered(True), lowered({"type": "object"})
    for value in ({}, {"a": [1, {"b": None}]}, [1], "a", None):
        assert json.dumps(value) in anything
        assert (json.dumps(value) in objects) == isinstance(value, dict)


@pytest.mark.parametrize("step", [60, 200, 256, 300, 500, 1000, 1024, 3600, 10_000, 86_400])
@pytest.mark.parametrize("bounds", [{}, {"minimum": 0, "maximum": 10**6}, {"minimum": -(10**5)}])
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_multiples_of_large_numbers(step, bounds, kind):
    schema = {"type": kind, "multipleOf": step, **bounds}
    written = lowered(schema)
    if written is None:
        assert bounds
        assert step in {1024, 86_400}
        return
    random = Random(step)
    for _ in range(40):
        number = random.choice([random.randrange(-(10**6), 10**7), step * random.randrange(-99, 999)])
        for value in (number, number + 1, number * 10, step):
            is_valid = jsonschema.Draft202012Validator(schema).is_valid(value)
            assert (str(value) in written) == is_valid, (schema, value)


@pytest.mark.parametrize("step", [997, 2047, 0.0625, 999_983])
def test_multiples_that_are_too_many_to_be_told_apart_name_the_place(step):
    with pytest.raises(UnenforcedError, match=r"^/properties/a: too many numbers have to be told apart"):
        lower_schema({"properties": {"a": {"type": "number", "multipleOf": step}}}, JsonOptions())


@pytest.mark.parametrize(
    "schema, comes, not_written",
    [
        ({"type": "integer", "enum": [1, 2]}, ["1", "2"], ["1.0", "2.0", "3"]),
        ({"type": "integer", "const": 2**70}, [str(2**70)], [f"{2**70}.0"]),
        ({"type": "integer", "enum": [1.0, 2.5]}, ["1"], ["1.0", "2", "2.5"]),
        ({"enum": [1, 2]}, ["1", "1.0"], ["3"]),
        ({"anyOf": [{"type": "integer", "const": 1}, {"const": 2}]}, ["1", "2", "2.0"], ["1.0"]),
        ({"anyOf": [{"type": "integer", "const": 1}, {"const": 1}]}, ["1", "1.0"], []),
    ],
)
def test_integers_that_are_listed_have_no_fraction(schema, comes, not_written):
    written = lowered(schema)
    assert [text for text in comes if text not in written] == []
    assert [text for text in not_written if text in written] == []


def test_a_schema_of_everyday_use():
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "mail": {"type": "string", "format": "email"},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
        },
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    written = lowered(schema)
    assert '{"name": "Ada", "age": 36, "tags": ["a", "b"]}' in written
    assert '{"age": 36, "name": "Ada"}' not in written
    validator = jsonschema.Draft202012Validator(schema)
    assert all(validator.is_valid(json.loads(text)) for text in written.samples(Random(0), 50))
