from __future__ import annotations

import json
import random

import msgspec
import pytest

from kernelet.contracts.parsing import CONTENT, CallSyntax, Exit, JsonCallsState, ParserTable, TextState
from kernelet.contracts.structured import GrammarRules, Text, Union
from kernelet.request.structured import FreeState, Marker, RulesState
from kernelet.structured.refusal import InvalidConstraintError, Refusal, UnenforcedError
from kernelet.structured.rules import decode
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.tags.calls import ToolCalls, arguments_schema, call_states, tool_calls
from kernelet.testing.grammar_engine.sample import sample_text
from kernelet.text.detokenizer import Span
from kernelet.text.parsing.machine import OutputParser
from kernelet.text.parsing.table import CompiledTable

OPTIONS = JsonOptions()
STRICT = {"name": "get", "parameters": {"properties": {"a": {}}}, "strict": True}
LOOSE = {"name": "get_more", "parameters": {"properties": {"b": {}}}}


def lower(schema, options):
    """An object with the schema's properties, or any object."""
    assert options is OPTIONS
    assert schema["type"] == "object"
    if "bad" in schema:
        raise UnenforcedError([Refusal("/bad", "nobody knows it")])
    names = schema.get("properties")
    texts = (
        ['{"any": 1}', "{}"] if names is None else [json.dumps(dict.fromkeys(names, text)) for text in ("</c>", '"')]
    )
    return GrammarRules({"root": Union(tuple(map(Text, texts)))})


def table(openings=("<c>",), *, syntax=None, at_start=False, many=False):
    opens = tuple(Exit(one, "calls", opens=True, at_start=at_start) for one in openings)
    end = Exit("</c>", CONTENT, closes=True)
    return ParserTable(
        states={"calls": JsonCallsState(to="behind", many=many), "behind": TextState(skip=" \n", exits=(end, *opens))},
        content_exits=(*opens, Exit("</c>", CONTENT)),
        call_syntax=syntax
        or CallSyntax(before='<c>{"name": "', between='", "arguments": ', after="}</c>", separator="\n"),
    )


LISTED = CallSyntax(
    begin="<c>[", before='{"name": "', between='", "arguments": ', after="}", separator=", ", end="]</c>"
)


def answers(calls, tokens, count=80):
    """Random answers: text, and whether it is a token."""
    states = call_states(calls, OPTIONS, tokens, lower)
    choose = random.Random(5)
    for _ in range(count):
        parts, state, steps = [], 0, 0
        while state is not None:
            known, steps = states[state], steps + 1
            if isinstance(known, RulesState):
                if known.instead is not None and choose.random() < 0.5:
                    state = known.instead
                    continue
                parts.append((sample_text(decode(known.rules), choose), False))
                state = known.next
                continue
            if isinstance(known, FreeState):
                parts.append((choose.choice(["", "hi ", "{}"]), False))
            if known.may_end and (steps > 9 or choose.random() < 0.3 or not known.exits):
                break
            exit_ = choose.choice(known.exits)
            parts.append((exit_.marker.text, exit_.marker.token_id is not None))
            state = exit_.next
        yield parts


def parsed(parser_table, parts, tokens):
    parser = OutputParser(CompiledTable(parser_table, tokens.__contains__))
    for text, is_token in parts:
        parser.push([Span(text, (0,), special=is_token)])
    return parser.finish()


@pytest.mark.parametrize("tokens", [{}, {"<c>": 7, "</c>": 8}], ids=["texts", "tokens"])
@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("choice", ["auto", "required", "get"])
@pytest.mark.parametrize("listed", [True, False])
def test_what_is_allowed_is_read_back(tokens, parallel, choice, listed):
    parser_table = table(syntax=LISTED if listed else None, many=listed)
    calls = tool_calls(parser_table, [STRICT, LOOSE], choice, parallel=parallel)
    counts, names = set(), set()
    for parts in answers(calls, tokens):
        message = parsed(parser_table, parts, tokens)
        counts.add(len(message.tool_calls))
        for call in message.tool_calls:
            names.add(call.name)
            keys = set(json.loads(call.arguments))
            # without `strict`, a call that is asked for keeps to its parameters; one that is the model's idea need not
            assert keys == {"a"} if call.name == "get" else keys == ({"b"} if choice == "required" else keys & {"any"})
        left = message.content.replace("hi ", "").replace("{}", "").strip()
        assert left == "", message
        assert choice == "auto" or not message.content.strip()
    assert names == ({"get"} if choice == "get" else {"get", "get_more"})
    assert (0 in counts) == (choice == "auto")
    assert max(counts) > 1 if parallel and choice != "get" else max(counts) == 1


@pytest.mark.parametrize(
    "tool, choice, nothing",
    [
        ({"name": "f"}, "named", True),
        ({"name": "f", "parameters": None}, "required", True),
        ({"name": "f", "strict": True}, "auto", True),
        ({"name": "f"}, "auto", False),
        ({"name": "f", "parameters": {}}, "named", False),
        ({"name": "f", "parameters": True}, "named", False),
        ({"name": "f", "strict": False}, "named", False),
    ],
)
def test_a_function_without_parameters_is_given_none(tool, choice, nothing):
    assert arguments_schema(tool, choice) == {"type": "object"} | ({"additionalProperties": False} if nothing else {})


@pytest.mark.parametrize("tokens", [{}, {"<c>": 7, "</c>": 8}], ids=["texts", "tokens"])
@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("listed", [True, False])
def test_calls_or_a_text_of_a_form(tokens, parallel, listed):
    parser_table = table(syntax=LISTED if listed else None, many=listed)
    calls = tool_calls(parser_table, [STRICT, LOOSE], parallel=parallel)
    calls = msgspec.structs.replace(calls, holds_text=True, schema={"type": "object", "properties": {"text": {}}})
    called, wrote = 0, 0
    for parts in answers(calls, tokens):
        message = parsed(parser_table, parts, tokens)
        if message.tool_calls:
            called += 1
            assert not message.content.strip()
        else:
            wrote += 1
            assert set(json.loads(message.content)) == {"text"}
    assert called > 9
    assert wrote > 9


def test_calls_without_a_marker_and_a_text_of_a_form():
    calls = msgspec.structs.replace(tool_calls(table(at_start=True), [STRICT]), holds_text=True)
    with pytest.raises(UnenforcedError, match="begin without a marker, as text of a form may"):
        call_states(calls, OPTIONS, {}, lower)


def test_it_can_be_sent():
    calls = tool_calls(table(), [STRICT], "auto", excludes=("<think>",))
    assert msgspec.json.decode(msgspec.json.encode(calls), type=ToolCalls) == calls


def test_text_has_no_other_begin_of_calls():
    calls = tool_calls(table(("<c>", "<d>")), [STRICT], "auto", excludes=("<think>",))
    free = call_states(calls, OPTIONS, {"<think>": 5}, lower)[0]
    assert free.excludes == (Marker(text="<d>"), Marker(text="<think>", token_id=5))
    assert [exit_.marker for exit_ in free.exits] == [Marker(text="<c>")]


def test_numbers_of_calls():
    syntax = CallSyntax(before="<c>", number=":", between=" ", after="</c>")
    (state,) = call_states(tool_calls(table(syntax=syntax), [STRICT], "get"), OPTIONS, {}, lower)
    choose = random.Random(1)
    numbers = {sample_text(decode(state.rules), choose).split(" ")[0].removeprefix("<c>get:") for _ in range(100)}
    assert len(numbers) > 20
    assert all(str(int(number)) == number for number in numbers)


@pytest.mark.parametrize(
    "parser_table, tools, choice, words",
    [
        (ParserTable(), [STRICT], "auto", "cannot be constrained"),
        (table(at_start=True), [STRICT], "auto", "begin without a marker"),
        (table(("<d>",)), [STRICT], "auto", "does not say with which marker"),
        (table((("<c>", "["),)), [STRICT], "auto", "begin with a word"),
        (table(), [{**STRICT, "name": "no name"}], "auto", "/tools/0/function/name: "),
        (table(), [LOOSE, {"name": "f", "parameters": {"bad": 1}}], "required", "/tools/1/function/parameters/bad: "),
    ],
)
def test_what_is_refused(parser_table, tools, choice, words):
    with pytest.raises(UnenforcedError, match=words):
        call_states(tool_calls(parser_table, tools, choice), OPTIONS, {}, lower)


def test_a_bare_call_may_be_asked_for():
    parser_table = table(at_start=True)
    for choice in ("required", "get"):
        assert call_states(tool_calls(parser_table, [STRICT], choice), OPTIONS, {}, lower)


def test_no_such_function():
    with pytest.raises(InvalidConstraintError, match="no tool 'other'"):
        tool_calls(table(), [STRICT], "other")
