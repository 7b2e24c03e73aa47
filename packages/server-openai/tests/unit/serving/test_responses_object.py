from __future__ import annotations

import pytest
from openai.types.responses import Response
from parsed_text import said
from scripted_engine import choice, lp, output

from kernelet.contracts.serving import ParsersInfo
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.responses import ResponsesRequest
from kernelet_server_openai.serving.responses_object import ResponseHead, status_of

LOGPROBS = [{7: lp("he", -0.5)}, {8: lp("llo", -0.25)}]


def head(**fields):
    return ResponseHead(request=ResponsesRequest(**{"input": "hi", **fields}), model="m", store=True)


def told(made, what):
    (item,) = made.object("completed", output=what)["output"]
    return item["content"][0]["logprobs"]


@pytest.mark.parametrize(
    "reason, status, item",
    [
        ("stop", "completed", "completed"),
        ("length", "incomplete", "incomplete"),
        ("abort", "cancelled", "incomplete"),
        ("error", "failed", "incomplete"),
    ],
)
def test_how_it_ended(reason, status, item):
    made = output(choice("hello", (7, 8), finish_reason=reason), num_cached_tokens=2)
    assert status_of(made) == status
    found = Response.model_validate(head().object(status, output=made), strict=True)
    assert (found.status, found.output[0].status, found.output_text) == (status, item, "hello")
    assert (found.usage.input_tokens, found.usage.output_tokens) == (3, 2)
    assert found.usage.input_tokens_details.cached_tokens == 2
    assert (found.incomplete_details is not None) is (status == "incomplete")
    assert (found.completed_at is not None) is (status == "completed")


def test_before_there_is_anything():
    found = Response.model_validate(head(temperature=0.5, metadata={"a": "b"}).object("queued"), strict=True)
    assert (found.output, found.usage, found.temperature, found.metadata) == ([], None, 0.5, {"a": "b"})


def test_an_error():
    found = head().object("failed", error=ApiError(503, "the engine stopped", code="engine_dead"))
    assert found["error"] == {"code": "engine_dead", "message": "the engine stopped"}


def test_logprobs_are_there_if_they_were_asked_for():
    made = output(choice("hello", (7, 8), logprobs=LOGPROBS))
    assert told(head(), made) == []
    found = told(head(top_logprobs=1), made)
    assert [(one["token"], one["logprob"], len(one["top_logprobs"])) for one in found] == [
        ("he", -0.5, 1),
        ("llo", -0.25, 1),
    ]


SAID = (("reasoning", "hm"), ("content", "a"), ("call", '{"a": 1}'), ("content", "b"), ("call", "{"))
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True}


@pytest.mark.parametrize("reason, last", [("stop", "completed"), ("length", "incomplete")])
def test_items_come_in_the_order_of_the_text(reason, last):
    message, _ = said(*SAID)
    positions = [{number: lp(text)} for number, (_, text) in enumerate(SAID)]
    made = output(choice("x", range(5), message=message, finish_reason=reason, logprobs=positions))
    asked = head(tools=[TOOL], reasoning={"effort": "low"}, top_logprobs=1)
    found = Response.model_validate(asked.object(status_of(made), output=made), strict=True)
    assert [one.type for one in found.output] == ["reasoning", "message", "function_call", "message", "function_call"]
    assert [one.status for one in found.output] == ["completed"] * 4 + [last]
    reasoning, first, call, second, cut = found.output
    assert (reasoning.content[0].text, reasoning.summary) == ("hm", [])
    assert (call.call_id, call.name, call.arguments, cut.arguments) == ("id0", "f", '{"a": 1}', "{")
    assert [[one.token for one in item.content[0].logprobs] for item in (first, second)] == [["a"], ["b"]]
    assert found.output_text == "ab"
    assert len({one.id for one in found.output}) == 5
    assert found.usage.output_tokens_details.reasoning_tokens == 1
    assert (found.reasoning.effort, found.tool_choice) == ("low", "auto")
    assert found.tools[0].to_dict() == TOOL


def test_a_call_in_which_a_stop_string_cut_is_incomplete():
    message, _ = said(("content", "a"), ("call", '{"a": '))
    made = output(choice("x", (1,), message=message, finish_reason="stop", stop_reason="END"))
    found = head(tools=[TOOL]).object(status_of(made), output=made)
    assert found["status"] == "completed"
    assert [one["status"] for one in found["output"]] == ["completed", "incomplete"]


def test_only_the_first_call_where_one_was_asked_for():
    message, _ = said(("call", "{}"), ("content", "a"), ("call", "{}"))
    request = ResponsesRequest(input="hi", parallel_tool_calls=False, tools=[TOOL])
    parsers = ParsersInfo(tool="x", auto_tool_choice=True)
    made = ResponseHead(request=request, model="m", store=True, use=request.tool_use(parsers))
    found = made.object("completed", output=output(choice("x", (1,), message=message, finish_reason="stop")))
    assert [one["type"] for one in found["output"]] == ["function_call", "message"]
    assert found["parallel_tool_calls"] is False


def test_an_empty_answer_is_an_empty_message():
    message, _ = said()
    found = head().object("completed", output=output(choice("", (), message=message, finish_reason="stop")))
    assert [one["content"][0]["text"] for one in found["output"]] == [""]
