from __future__ import annotations

import pytest
from msgspec.structs import replace

from kernelet.contracts.parsing import CONTENT, CallSyntax, Exit, JsonCallsState, ParserTable, TextState
from kernelet.engine.output_parsing import OutputParsing
from kernelet.structured.tags.calls import tool_calls
from kernelet.text.detokenizer import Span
from kernelet.text.parsing.table import CompiledTable

OPEN, CLOSE = Exit("<c>", "calls", opens=True), Exit("</c>", CONTENT, closes=True)
TABLE = ParserTable(
    states={"calls": JsonCallsState(to="behind"), "behind": TextState(exits=(CLOSE,), into="")},
    content_exits=(OPEN,),
    call_syntax=CallSyntax(before='<c>{"name": "', between='", "arguments": ', after="}</c>"),
)
TOOLS = ({"name": "f"},)
CALL = '<c>{"name": "f", "arguments": {}}</c>'


def read(parsing, text, *, cut=False):
    parser = parsing.new_parser()
    parser.push([Span(text, (0,))])
    message = parser.finish(cut=cut)
    return message.content, len(message.tool_calls)


@pytest.fixture
def parsing():
    return OutputParsing(table=CompiledTable(TABLE), tools=TOOLS)


def test_free_answers(parsing):
    assert read(parsing, f"a {CALL} b") == ("a  b", 1)
    assert read(parsing, '<c>{"na', cut=True) == ('<c>{"na', 0)
    held = parsing.held_to_calls(tool_calls(TABLE, TOOLS, "auto"))
    assert read(held, f"a {CALL} b") == ("a  b", 1)


def test_calls_that_must_come(parsing):
    held = parsing.held_to_calls(tool_calls(TABLE, TOOLS, "required"))
    assert read(held, CALL + CALL) == ("", 2)
    assert read(held, '<c>{"na', cut=True) == ("", 0)


def test_in_a_text_of_a_form_nothing_is_a_marker(parsing):
    held = parsing.held_to_calls(replace(tool_calls(TABLE, TOOLS), holds_text=True))
    assert read(held, CALL + CALL) == ("", 2)
    text = '{"a": "<c>{}"}'
    assert read(held, text) == (text, 0)


def test_text_of_a_form_alone(parsing):
    assert read(parsing.held(reasons=True), CALL) == (CALL, 0)
