from __future__ import annotations

from random import Random

from kernelet.structured.schema.lower import lower_schema
from kernelet.structured.schema.options import JsonOptions
from kernelet.testing.grammar_engine.reference import recognizes, sample_text

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def test_whitespace_is_bounded_by_default():
    rules = lower_schema(SCHEMA, JsonOptions())
    assert recognizes(rules, '{"a":' + " " * 8 + "1}")
    assert not recognizes(rules, '{"a":' + " " * 9 + "1}")


def test_compact_texts_have_none():
    rules = lower_schema(SCHEMA, JsonOptions(max_whitespace=0))
    assert recognizes(rules, '{"a":1}')
    assert not recognizes(rules, '{"a": 1}')


def test_further_properties_are_as_asked_for():
    by_default, allowed, closed = (
        lower_schema(SCHEMA, JsonOptions(additional_properties=asked)) for asked in (None, True, False)
    )
    text = '{"a":1,"b":2}'
    assert recognizes(by_default, text)
    assert recognizes(allowed, text)
    assert not recognizes(closed, text)
    assert recognizes(closed, '{"a":1}')
    assert all("a" in sample_text(closed, Random(seed)) for seed in range(5))
