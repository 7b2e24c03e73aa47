from __future__ import annotations

from kernelet.structured.schema.algebra.terms import NEVER, SchemaTerm
from kernelet.structured.schema.document import Document
from kernelet.structured.schema.keywords.site import Site
from kernelet.structured.schema.reading import Reading

SCHEMA = {"$defs": {"x/y": {"properties": {"a~b": {"pattern": "a"}, "c": False}, "required": ["a~b"]}}}


def test_site():
    reading = Reading(Document(SCHEMA), lambda key: False)
    site = Site(reading, SchemaTerm("/$defs/x~1y", ()), "properties")
    assert site.path == "/$defs/x~1y/properties"
    assert site.schema == SCHEMA["$defs"]["x/y"] and site.value == site.schema["properties"]
    assert reading.terms.term(site.inside("a~b")) == SchemaTerm("/$defs/x~1y/properties/a~0b", ())
    assert site.inside("c") == NEVER
    assert site.beside("required").value == ["a~b"]
    assert site.order(1, 5) == (1, reading.document["/$defs/x~1y"].number, 5)
