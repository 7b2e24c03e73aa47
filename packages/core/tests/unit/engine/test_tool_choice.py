from __future__ import annotations

import pytest

from kernelet.contracts.parsing import CONTENT, REASONING, CallSyntax, Exit, JsonCallsState, ParserTable, TextState
from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.engine.tool_choice import calls_or_text, held_calls, offered_calls, without_strict
from kernelet.errors import ParameterError
from kernelet.request.tool_choice import Choice

FUNCTIONS = ({"name": "f", "parameters": {"type": "object"}}, {"name": "g"})
STRICT = ({"name": "f", "strict": True}, {"name": "g"})
SYNTAX = CallSyntax(before='<call>{"name": "', between='", "arguments": ', after="}</call>")
CALLS = ParserTable(
    states={
        "call": JsonCallsState(to="end"),
        "end": TextState(exits=(Exit("</call>", CONTENT, closes=True),), into=""),
    },
    content_exits=(Exit("<call>", "call", opens=True),),
    call_syntax=SYNTAX,
)
THINKS = ParserTable(
    states={REASONING: TextState(exits=(Exit("</think>", CONTENT),), into=REASONING)},
    content_exits=(Exit("<think>", REASONING),),
)


@pytest.mark.parametrize("kind, functions", [("none", STRICT), ("auto", FUNCTIONS)])
def test_a_free_model(kind, functions):
    assert held_calls(Choice(kind), functions, None, None) is None


def test_strict_functions_hold_the_calls():
    held = held_calls(Choice("auto"), STRICT, CALLS, THINKS, parallel=False)
    assert (held.choice, held.syntax, held.parallel, held.excludes) == ("auto", SYNTAX, False, ("<think>",))
    assert held.openings == (("<call>",),)
    assert held.tools == STRICT


def test_calls_that_a_family_does_not_describe_are_refused_later():
    assert held_calls(Choice("required"), FUNCTIONS, ParserTable(), None).syntax is None


def test_a_named_function_is_the_only_one():
    held = held_calls(Choice("named", "g"), FUNCTIONS, CALLS, None)
    assert (held.choice, held.tools, held.excludes) == ("named", ({"name": "g"},), ())


@pytest.mark.parametrize(
    "kind, functions, table, says",
    [
        ("required", FUNCTIONS, None, "tool_choice: no tool parser runs"),
        ("auto", STRICT, None, "tools: no tool parser runs"),
    ],
)
def test_nothing_can_see_to_it(kind, functions, table, says):
    with pytest.raises(ParameterError, match=says):
        held_calls(Choice(kind), functions, table, None)


def test_calls_or_a_text_of_a_form():
    offered = offered_calls(Choice("auto"), FUNCTIONS, CALLS, parallel=False)
    assert (offered.tools, offered.choice, offered.parallel) == (FUNCTIONS, "auto", False)
    either = calls_or_text(offered, StructuredOutputsParams(json={"type": "integer"}))
    assert (either.tools, either.holds_text, either.schema) == (FUNCTIONS, True, {"type": "integer"})
    assert calls_or_text(offered, StructuredOutputsParams(json_object=True)).schema == {"type": "object"}


BARE = ParserTable(content_exits=(Exit("{", "call", opens=True, at_start=True, keeps=True),), call_syntax=SYNTAX)


@pytest.mark.parametrize(
    "choice, functions, table",
    [("none", FUNCTIONS, CALLS), ("auto", (), CALLS), ("auto", FUNCTIONS, ParserTable()), ("auto", FUNCTIONS, BARE)],
)
def test_calls_that_cannot_be_told_from_a_text_of_a_form(choice, functions, table):
    assert offered_calls(Choice(choice), functions, table) is None


@pytest.mark.parametrize(
    "asked",
    [
        StructuredOutputsParams(regex="a"),
        StructuredOutputsParams(json="{}"),
        StructuredOutputsParams(json={}, backend="x"),
        StructuredOutputsParams(json={}, disable_any_whitespace=True),
        {"json": {}},
    ],
)
def test_forms_that_do_not_go_with_calls(asked):
    assert calls_or_text(offered_calls(Choice("auto"), FUNCTIONS, CALLS), asked) is None


def test_templates_do_not_see_strict():
    tools = [{"type": "function", "strict": True, "function": {"name": "f", "strict": True}}, {"name": "g"}]
    assert without_strict(tools) == [{"type": "function", "function": {"name": "f"}}, {"name": "g"}]
    assert without_strict(None) is None
    assert tools[0]["function"]["strict"] is True
