from __future__ import annotations

import pytest

from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.schema.algebra.facts import Has, Member, Multiple, OneOf, Refused, SizeAtLeast
from kernelet.structured.schema.algebra.terms import ALWAYS, NEVER, AnyTerm, SchemaTerm, ValueTerm, opposite
from kernelet.structured.schema.document import Document
from kernelet.structured.schema.reading import MAX_CLAUSES, Reading, UnknownError
from kernelet.structured.schema.values import value_of


def reading_of(schema, is_empty=lambda key: False):
    return Reading(Document(schema), is_empty)


def test_literals():
    reading = reading_of(
        {
            "$defs": {
                "true": True,
                "false": False,
                "silent": {"title": "x", "default": 3},
                "to": {"$ref": "#/$defs/other"},
                "other": {"pattern": "a"},
                "const": {"const": 1},
                "enum": {"enum": [1.0]},
                "one": {"type": "string"},
                "two": {"title": "two", "type": "string"},
            }
        }
    )
    found = {name: reading.literal(f"/$defs/{name}", ()) for name in reading.document[""].schema["$defs"]}
    assert found["true"] == found["silent"] == ALWAYS and found["false"] == NEVER
    assert reading.terms.term(found["to"]) == SchemaTerm("/$defs/other", ()) and found["to"] == found["other"]
    assert reading.terms.term(found["const"]) == ValueTerm(value_of(1)) and found["const"] == found["enum"]
    assert found["one"] == found["two"] != found["other"]


def test_scopes_are_kept_where_they_matter():
    schema = {"$id": "http://a/b", "$defs": {"x": {"$id": "c", "pattern": "a"}}}
    term = (reading := reading_of(schema)).terms.term(reading.literal("/$defs/x", ("http://a/b",)))
    assert term == SchemaTerm("/$defs/x", ("http://a/b",))
    dynamic = reading_of({**schema, "items": {"$dynamicRef": "#"}})
    term = dynamic.terms.term(dynamic.literal("/$defs/x", ("http://a/b",)))
    assert term == SchemaTerm("/$defs/x", ("http://a/b", "http://a/c"))


def test_clauses_of_any_term():
    reading = reading_of({"$defs": {"a": {"type": "integer"}, "b": {"const": "x"}}})
    both = reading.terms.any_of([reading.literal("/$defs/a", ()), reading.literal("/$defs/b", ())])
    assert isinstance(reading.terms.term(both), AnyTerm)
    assert reading.clauses(both, "number") == (frozenset({Multiple(value_of(1).content)}),)
    assert reading.clauses(both, "string") == (frozenset({OneOf(frozenset("x"))}),)
    assert reading.clauses(both, "null") == () and reading.clauses(opposite(both), "null") == (frozenset(),)


def test_circles_become_refusals():
    reading = reading_of({"anyOf": [{"$ref": "#"}, {"minLength": 1}]})
    clauses = reading.clauses(reading.literal("", ()), "string")
    assert any(isinstance(fact, Refused) for clause in clauses for fact in clause)
    assert frozenset({SizeAtLeast(1)}) in clauses


def test_a_question_aside_does_not_take_work_for_a_circle():
    """A property of the schema itself: asked for while the schema is read, it is not known yet."""
    asked = []

    def is_empty(key):
        with reading.aside():
            for literal in sorted(key):
                with pytest.raises(UnknownError) if literal == root else pytest.MonkeyPatch.context():
                    reading.clauses(literal, "object")
                asked.append(literal)
        return False

    reading = reading_of(
        {
            "allOf": [{"properties": {"a": {"$ref": "#"}}, "required": ["a"]}, {"properties": {"a": {"pattern": "x"}}}],
        },
        is_empty,
    )
    root = reading.literal("", ())
    (clause,) = reading.clauses(root, "object")
    assert root in asked and Has("a") in clause and Member("a", root) in clause


def test_too_many_alternatives():
    reading = reading_of({})
    part = [tuple(frozenset({Has(f"{kind}{index}")}) for index in range(70)) for kind in "ab"]
    with pytest.raises(UnenforcedError, match=str(MAX_CLAUSES)) as caught:
        reading.both(part, "object", "/allOf")
    assert caught.value.refusals[0].path == "/allOf"


def test_disjoint_for_a_type():
    reading = reading_of(
        {"$defs": {"a": {"minimum": 2, "maxLength": 3}, "b": {"maximum": 1, "pattern": "a"}, "c": {"type": "null"}}}
    )
    one, two, three = (reading.literal(f"/$defs/{name}", ()) for name in "abc")
    assert reading.are_disjoint(one, two, "number") and reading.are_disjoint(two, one, "number")
    assert not reading.are_disjoint(one, two, "string") and not reading.are_disjoint(one, one, "number")
    assert reading.are_disjoint(one, three, "string") and not reading.are_disjoint(one, three, "null")


def test_patterns():
    reading = reading_of({})
    assert reading.pattern("a", "") is reading.pattern("a", "/x")
    with pytest.raises(UnenforcedError) as caught:
        reading.pattern("(?=a)", "/x")
    assert caught.value.refusals[0].path == "/x"
    with pytest.raises(InvalidConstraintError, match=r"^/x: "):
        reading.pattern("(", "/x")
