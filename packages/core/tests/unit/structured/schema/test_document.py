from __future__ import annotations

import pytest

from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.schema.dialects import Dialect
from kernelet.structured.schema.document import Document

NESTED = {
    "$id": "http://example.com/root.json",
    "$defs": {
        "a/b": {"$anchor": "here", "type": "string"},
        "c%d": {"type": "null"},
        "sub": {"$id": "folder/sub.json", "$defs": {"x": {"type": "number"}}, "$anchor": "there"},
        "urn": {"$id": "urn:example:1", "$defs": {"y": {}}},
    },
    "anything": {"x": [{"type": "array"}]},
}


@pytest.mark.parametrize(
    "reference, target",
    [
        ("#", ""),
        ("root.json", ""),
        ("http://example.com/root.json#/$defs/sub", "/$defs/sub"),
        ("#/$defs/a~1b", "/$defs/a~1b"),
        ("#/%24defs/c%25d", "/$defs/c%d"),
        ("#here", "/$defs/a~1b"),
        ("folder/sub.json", "/$defs/sub"),
        ("/folder/sub.json#/$defs/x", "/$defs/sub/$defs/x"),
        ("folder/sub.json#there", "/$defs/sub"),
        ("urn:example:1#/$defs/y", "/$defs/urn/$defs/y"),
        ("#/anything/x/0", "/anything/x/0"),
    ],
)
def test_references(reference, target):
    document = Document(NESTED)
    assert document.resolve(reference, "", "$ref") == target
    assert target in document.places


def test_references_are_relative_to_the_nearest_address():
    document = Document(NESTED)
    assert document.resolve("#/$defs/x", "/$defs/sub", "$ref") == "/$defs/sub/$defs/x"
    assert document.resolve("../root.json", "/$defs/sub/$defs/x", "$ref") == ""
    assert document.resolve("#/$defs/y", "/$defs/urn/$defs/y", "$ref") == "/$defs/urn/$defs/y"


@pytest.mark.parametrize("reference", ["#/$defs/none", "#/anything/x/7", "#/anything/x/0/type/z", "#nowhere"])
def test_references_to_nothing(reference):
    with pytest.raises(InvalidConstraintError, match=r"^/\$ref: .*"):
        Document(NESTED).resolve(reference, "", "$ref")


@pytest.mark.parametrize("reference", ["other.json", "http://example.org/root.json", "urn:example:2#/$defs/y"])
def test_references_out_of_the_document(reference):
    with pytest.raises(UnenforcedError) as caught:
        Document(NESTED).resolve(reference, "/$defs/a~1b", "$ref")
    (refusal,) = caught.value.refusals
    assert refusal.path == "/$defs/a~1b/$ref" and reference in refusal.reason


def test_what_a_reference_leads_to_must_be_a_schema():
    with pytest.raises(InvalidConstraintError, match=r"^/const/type: "):
        Document({"const": {"type": 3}}).resolve("#/const", "", "$ref")


def test_addresses_inside_of_data_are_none():
    document = Document({"enum": [{"$id": "x.json", "$anchor": "a"}], "$defs": {"y": {"$id": "x.json"}}})
    assert document.resolve("x.json", "", "$ref") == "/$defs/y"


def test_draft_7_anchors_and_hidden_siblings():
    schema = {
        "definitions": {
            "a": {"$id": "#here"},
            "b": {"$ref": "#here", "$id": "http://example.com/hidden.json"},
        }
    }
    document = Document(schema, Dialect.DRAFT_7)
    assert document.resolve("#here", "", "$ref") == "/definitions/a"
    with pytest.raises(UnenforcedError):
        document.resolve("http://example.com/hidden.json", "", "$ref")


def test_dynamic_references_lead_to_the_outermost():
    schema = {
        "$id": "http://example.com/root",
        "$defs": {
            "mine": {"$dynamicAnchor": "item", "type": "string"},
            "list": {
                "$id": "list",
                "items": {"$dynamicRef": "#item"},
                "$defs": {"default": {"$dynamicAnchor": "item"}, "plain": {"$anchor": "fixed"}},
            },
        },
    }
    document = Document(schema)
    assert document.is_dynamic
    root, inner = "http://example.com/root", "http://example.com/list"
    assert document.resolve_dynamic("#item", "/$defs/list/items", (root, inner)) == "/$defs/mine"
    assert document.resolve_dynamic("#item", "/$defs/list/items", (inner,)) == "/$defs/list/$defs/default"
    assert document.resolve_dynamic("#fixed", "/$defs/list/items", (root, inner)) == "/$defs/list/$defs/plain"


def test_places_are_in_order():
    document = Document({"properties": {"b": {"not": {}}, "a": {}}})
    places = ["", "/properties/b", "/properties/b/not", "/properties/a"]
    assert sorted(places, key=lambda place: document[place].number) == places
