from __future__ import annotations

from kernelet.structured.schema.document import Document
from kernelet.structured.schema.graph import Builder


def builder_of(schema, **more):
    return Builder(Document({"$defs": schema}), **more)


def key_of(builder, *names):
    return builder.reading.key([builder.reading.literal(f"/$defs/{name}", ()) for name in names])


SCHEMAS = {
    "text": {"type": "string", "minLength": 1},
    "short": {"maxLength": 0, "type": ["string", "null"]},
    "list": {"type": "array", "items": {"$ref": "#/$defs/list"}},
    "endless": {"type": "array", "items": {"$ref": "#/$defs/endless"}, "minItems": 1},
    "x": {"type": "object", "properties": {"kind": {"const": "x"}}, "required": ["kind"]},
    "y": {"type": "object", "properties": {"kind": {"const": "y"}}, "required": ["kind"]},
    "bad": {"type": "string", "pattern": "(?=a)"},
}


def test_a_key_has_one_node():
    builder = builder_of(SCHEMAS)
    one, other = key_of(builder, "text"), key_of(builder, "list")
    assert builder.node(one, "/a") == builder.node(one, "/b") != builder.node(other, "")
    assert builder.keys[builder.node(other, "")] == other
    assert builder.paths[builder.node(other, "")] == "/$defs/list"


def test_emptiness():
    builder = builder_of(SCHEMAS)
    assert builder.is_empty(key_of(builder, "x", "y")) and builder.is_empty(key_of(builder, "text", "list"))
    assert builder.is_empty(key_of(builder, "text", "short"))
    assert not builder.is_empty(key_of(builder, "text")) and not builder.is_empty(key_of(builder, "list"))
    assert not builder.is_empty(key_of(builder, "bad")), "what is refused may have values"
    # what is not certain is not said: that there is no finite value is found when the graph is whole
    assert not builder.is_empty(key_of(builder, "endless"))


def test_refusals_belong_to_a_node():
    builder = builder_of(SCHEMAS)
    meaning = builder.meaning(builder.node(key_of(builder, "bad"), ""))
    assert [refusal.path for refusal in meaning.refusals] == ["/$defs/bad/pattern"] and meaning.shapes == ()
    assert builder.shapes(builder.node(key_of(builder, "bad"), "")) is None
    both = builder.node(key_of(builder, "bad", "list"), "")
    assert builder.meaning(both).refusals == ()


def test_values():
    builder = builder_of({"few": {"enum": [1, 2]}, "own": {"prefixItems": [{"$ref": "#/$defs/own"}], "items": False}})
    assert len(builder.values(key_of(builder, "few"), 2) or ()) == 2
    assert builder.values(key_of(builder, "few"), 1) is None and builder.values(key_of(builder, "own"), 10) is None
