from __future__ import annotations

import json

import pytest
from asgi_calls import post
from hypothesis import given
from hypothesis import strategies as st
from parsed_text import said
from scripted_engine import ScriptedEngine, choice, lp, output

from kernelet.contracts.serving import ParsersInfo
from kernelet.request.message import ParsedMessage
from kernelet_server_openai.protocol.chat import ChatCompletionRequest
from kernelet_server_openai.serving.api import Heading
from kernelet_server_openai.serving.chat_stream import ChatChunks

PATH = "/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "hi"}]
STEPS = (
    output(choice("he", (1,)), choice("", (4,), index=1)),
    output(choice("he", (1, 2)), choice("", (4,), index=1)),
    output(choice("hello", (1, 2, 3), finish_reason="stop", stop_reason="!"), choice("x", (4, 5), index=1)),
    output(
        choice("hello", (1, 2, 3), finish_reason="stop", stop_reason="!"),
        choice("xy", (4, 5, 6), index=1, finish_reason="length"),
    ),
)


TOOL = {"type": "function", "function": {"name": "f"}}
PARSERS = ParsersInfo(tool="x", auto_tool_choice=True)


def stream(make_app, *steps, **fields):
    engine = ScriptedEngine(*steps, parsers=PARSERS)
    reply = post(make_app(engine), PATH, {"messages": MESSAGES, "stream": True, **fields})
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("text/event-stream")
    return reply.events


def text_of(events, index):
    choices = [one for event in events for one in event["choices"] if one["index"] == index]
    return "".join(one["delta"].get("content", "") for one in choices)


@pytest.mark.parametrize("parsed", [False, True])
def test_the_chunk_that_ends_says_what_connectors_say(make_app, parsed):
    told = {"remote_host": "a"}
    fields = {"message": ParsedMessage(content="hi")} if parsed else {}
    last = output(choice("hi", (1, 2), finish_reason="length", **fields), kv_transfer_params=told)
    first = output(choice("h", (1,), **({"message": ParsedMessage(content="h")} if parsed else {})))
    events = stream(make_app, first, last, tools=[TOOL] if parsed else None)
    assert [event.get("kv_transfer_params") for event in events if event["choices"][0]["finish_reason"]] == [told]
    assert sum("kv_transfer_params" in event for event in events) == 1


def test_every_answer_begins_with_its_role_and_ends_once(make_app):
    events = stream(make_app, *STEPS, n=2)
    assert [event["choices"][0]["delta"] for event in events[:2]] == [{"role": "assistant", "content": ""}] * 2
    assert [text_of(events, index) for index in (0, 1)] == ["hello", "xy"]
    ends = [one for event in events for one in event["choices"] if one["finish_reason"] is not None]
    assert [(one["index"], one["finish_reason"], one["stop_reason"]) for one in ends] == [
        (0, "stop", "!"),
        (1, "length", None),
    ]
    assert len({json.dumps([event[name] for name in ("id", "created", "model", "object")]) for event in events}) == 1
    assert all("usage" not in event for event in events)


def test_a_step_that_shows_nothing_sends_nothing(make_app):
    assert len(stream(make_app, *STEPS, n=2)) == 2 + 4


def test_usage_comes_last(make_app):
    *rest, last = stream(make_app, *STEPS, n=2, stream_options={"include_usage": True})
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] == 6
    assert all(event["usage"] is None for event in rest)


def test_usage_in_every_chunk(make_app):
    options = {"include_usage": True, "continuous_usage_stats": True}
    counts = [event["usage"]["completion_tokens"] for event in stream(make_app, *STEPS, n=2, stream_options=options)]
    assert counts[:2] == [0, 0]
    assert counts == sorted(counts)
    assert counts[-1] == 6


def test_logprobs_and_token_ids_are_told_once(make_app):
    steps = (
        output(choice("", (1,), logprobs=[{1: lp(b"\xe2")}]), prompt_logprobs=[None, {2: lp("b")}, {3: lp("c")}]),
        output(
            choice("€", (1, 2), logprobs=[{1: lp(b"\xe2")}, {2: lp(b"\x82\xac")}], finish_reason="stop"),
            prompt_logprobs=[None, {2: lp("b")}, {3: lp("c")}],
        ),
    )
    events = stream(make_app, *steps, logprobs=True, prompt_logprobs=0, return_token_ids=True)
    assert events[0]["prompt_token_ids"] == [1, 2, 3]
    assert events[0]["prompt_logprobs"][0] is None
    choices = [event["choices"][0] for event in events[1:]]
    assert [one["token_ids"] for one in choices] == [[1], [2]]
    pieces = [bytes(entry["bytes"]) for one in choices for entry in one["logprobs"]["content"]]
    assert b"".join(pieces).decode() == "€"


def test_echo_is_in_the_first_chunk(make_app):
    messages = [{"role": "assistant", "content": "Well, "}]
    engine = ScriptedEngine(output(choice("hello", (1,), finish_reason="stop")))
    events = post(make_app(engine), PATH, {"messages": messages, "stream": True, "echo": True}).events
    assert text_of(events, 0) == "Well, hello"


@pytest.mark.parametrize("options", [None, {"include_usage": True}])
@given(pieces=st.lists(st.text(max_size=4), min_size=1, max_size=5))
def test_chunks_are_json_whatever_the_text(options, pieces):
    request = ChatCompletionRequest(messages=MESSAGES, stream_options=options, stream=True)
    chunks = ChatChunks(Heading(id='"', created=1, model="\n"), request, "")
    body, so_far = b"", ""
    for piece in pieces:
        so_far += piece
        body += chunks.write(0, output(choice(so_far, (1,))))
    body += chunks.write(0, output(choice(so_far, (1,), finish_reason="stop"))) + chunks.end()
    lines = [line for line in body.split(b"\n\n") if line]
    events = [json.loads(line.removeprefix(b"data: ")) for line in lines]
    assert text_of(events, 0) == so_far
    assert all(event["id"] == '"' and event["model"] == "\n" for event in events)


def step(*parts, tokens=1, **fields):
    positions = [{number: lp(str(number))} for number in range(tokens)]
    return output(choice("." * tokens, range(tokens), message=said(*parts)[0], logprobs=positions, **fields))


CALLING = (
    step(("reasoning", "h")),
    step(("reasoning", "hm"), ("content", "a"), tokens=3),
    step(("reasoning", "hm"), ("content", "a"), tokens=4),
    step(("reasoning", "hm"), ("content", "a"), ("call", '{"a":'), tokens=5),
    step(("reasoning", "hm"), ("content", "a"), ("call", '{"a": 1}'), ("call", "{}"), tokens=6, finish_reason="stop"),
)


def test_pieces_of_a_parsed_answer(make_app):
    events = stream(make_app, *CALLING, tools=[TOOL])
    deltas = [event["choices"][0]["delta"] for event in events]
    start = {"id": "id0", "type": "function", "function": {"name": "f", "arguments": ""}}
    assert deltas == [
        {"role": "assistant", "content": None},
        {"reasoning": "h", "reasoning_content": "h"},
        {"reasoning": "m", "reasoning_content": "m"},
        {"content": "a"},
        {"tool_calls": [{"index": 0, **start}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": " 1}"}}]},
        {"tool_calls": [{"index": 1, **start, "id": "id1"}]},
        {"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]},
        {},
    ]
    assert [event["choices"][0]["finish_reason"] for event in events] == [None] * 9 + ["tool_calls"]


def test_tokens_of_a_parsed_answer_are_told_once(make_app):
    events = stream(make_app, *CALLING, logprobs=True, return_token_ids=True)
    choices = [event["choices"][0] for event in events[1:]]
    assert [index for one in choices for index in one["token_ids"]] == [0, 1, 2, 3, 4, 5]
    told = [entry["token"] for one in choices if one["logprobs"] for entry in one["logprobs"]["content"]]
    assert told == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize("tools, first, last", [([TOOL], None, {"content": ""}), (None, "", {})])
def test_an_answer_that_says_nothing_is_an_empty_text(make_app, tools, first, last):
    events = stream(make_app, step(finish_reason="stop"), tools=tools)
    deltas = [event["choices"][0]["delta"] for event in events]
    assert deltas == [{"role": "assistant", "content": first}, last]


def test_tokens_of_reasoning_in_every_chunk(make_app):
    options = {"include_usage": True, "continuous_usage_stats": True}
    usages = [event["usage"] for event in stream(make_app, *CALLING, stream_options=options)]
    assert [one["completion_tokens_details"]["reasoning_tokens"] for one in usages] == [0] + [1] * 10
