from __future__ import annotations

from kernelet.contracts.structured import Rule, Text
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.schema.write.scribe import Scribe


def test_tools_write_into_the_same_rules():
    scribe = Scribe(JsonOptions(max_whitespace=2), lambda node: Text(str(node)))
    rules = scribe.rules.finish(scribe.rules.add(scribe.characters.rest)).rules
    assert rules["characters"].item == Rule("character")
    assert scribe.value(3) == Text("3")


def test_whitespace_is_as_asked_for():
    assert Scribe(JsonOptions(max_whitespace=0), lambda node: Text("1")).marks.comma == Text(",")
    assert Scribe(JsonOptions(max_whitespace=1), lambda node: Text("1")).marks.comma != Text(",")
