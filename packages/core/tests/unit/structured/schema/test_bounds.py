from __future__ import annotations

import pytest

from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.structured import rules as over
from kernelet.structured.schema.bounds import ENDLESS, beyond
from kernelet.structured.schema.lower import lower_schema
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.schema.read import read_schema

FLAT = GrammarEngineOffer(name="flat", target="m:C", recursion=False, max_repeat=20)
ANY = GrammarEngineOffer(name="any", target="m:C")
SMALL = GrammarEngineOffer(name="small", target="m:C", max_repeat=20)
TREE = {"$ref": "#/$defs/t"}


def closed(**properties):
    return {"type": "object", "properties": properties, "additionalProperties": False}


@pytest.mark.parametrize(
    "schema, places",
    [
        (closed(a={"type": "string", "maxLength": 20}), {}),
        (True, {"": ENDLESS}),
        ({"type": "object", "properties": {"a": {"type": "object"}}}, {"": ENDLESS, "/properties/a": ENDLESS}),
        (closed(a={"type": "array"}), {"/properties/a": ENDLESS}),
        (closed(a={"$ref": "#"}), {"": ENDLESS}),
        (closed(a=TREE) | {"$defs": {"t": closed(b=TREE)}}, {"/$defs/t": ENDLESS}),
        (closed(a={"type": "string", "maxLength": 21}), {"/properties/a": "at most 20 times, not 21"}),
        (
            closed(a={"type": "array", "items": {"type": "string", "maxLength": 50}}),
            {"/properties/a/items": "at most 20 times, not 50"},
        ),
        (closed(a={"type": "string", "pattern": "^a{30}$"}), {"/properties/a": "at most 20 times, not 30"}),
    ],
)
def test_each_place_is_named(schema, places):
    options = JsonOptions()
    graph = read_schema(schema, options)
    found = {one.path: one.reason for one in beyond(graph, options, FLAT)}
    assert found.keys() == places.keys()
    assert all(places[path] in reason for path, reason in found.items())
    assert (over.fits(FLAT, lower_schema(schema, options)) is None) == (not places)
    assert beyond(graph, options, ANY) == []
    repeats = [path for path, reason in places.items() if reason is not ENDLESS]
    assert [one.path for one in beyond(graph, options, SMALL)] == repeats
