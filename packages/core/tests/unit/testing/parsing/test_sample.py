from __future__ import annotations

import pytest

from kernelet.request.message import ParsedMessage, ToolCall
from kernelet.testing.parsing.sample import Parsed, parsed, plain, same_calls


def test_parsed():
    call = ToolCall(id="1", name="f", arguments="{}")
    message = ParsedMessage(reasoning="r", content="c", tool_calls=[call])
    found = parsed(message)
    assert found == Parsed("r", "c", (("f", "{}"),))
    call.arguments = "changed"
    assert found == Parsed("r", "c", (("f", "{}"),))


@pytest.mark.parametrize("one, other", [(1, 1.0), (1, True), (0, False), ("1", 2), (None, "x"), ("{", "}")])
def test_plain_tells_apart(one, other):
    assert plain({"a": one}) != plain({"a": other})


def test_same_calls():
    assert same_calls((("f", '{"b": 1,"a" :[]}'),), (("f", {"a": [], "b": 1}),))
    assert same_calls((("f", '{"b'),), (("f", '{"b'),))
    assert not same_calls((("f", "{}"),), (("g", {}),))
    assert not same_calls((("f", "{}"),), ())
    assert not same_calls((("f", "{}"), ("f", "{}")), (("f", {}),))
    assert not same_calls((("f", ""),), (("f", {}),))
