from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from openai import omit
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import ResponseStreamEvent
from parsed_text import said
from pydantic import TypeAdapter
from scripted_engine import choice, lp, output

from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.responses import ResponsesRequest
from kernelet_server_openai.serving.responses_events import ResponseEvents
from kernelet_server_openai.serving.responses_object import ResponseHead

EVENT = TypeAdapter(ResponseStreamEvent)
HEAD = ResponseHead(request=ResponsesRequest(input="hi"), model="m", store=False)


def read(data):
    """Events as a client reads them: each names its kind twice."""
    found = []
    for block in data.decode().split("\n\n")[:-1]:
        name, line = block.split("\n")
        content = json.loads(line.removeprefix("data: "))
        assert name == f"event: {content['type']}"
        found.append(content)
    return found


@given(st.lists(st.text(max_size=4), max_size=8))
def test_deltas_add_up_to_the_text_however_it_comes(pieces):
    events, text = ResponseEvents(HEAD), ""
    data = events.begin()
    for count, piece in enumerate(pieces):
        text += piece
        data += events.write(output(choice(text, range(count + 1))))
    last = output(choice(text, range(len(pieces)), finish_reason="stop"))
    end, done = events.end(last)
    found = read(data + events.write(last) + end)
    assert [one["sequence_number"] for one in found] == list(range(len(found)))
    deltas = [one["delta"] for one in found if one["type"] == "response.output_text.delta"]
    assert all(deltas)
    assert "".join(deltas) == text == found[-4]["text"]
    assert found[-1]["type"] == "response.completed"
    assert found[-1]["response"] == json.loads(json.dumps(done))


def test_a_failure_ends_the_stream_with_the_reason():
    events = ResponseEvents(HEAD)
    events.begin()
    data, done = events.fail(ApiError(503, "gone", code="engine_dead"), output(choice("he", (1,))))
    (event,) = read(data)
    assert (event["type"], event["sequence_number"]) == ("response.failed", 2)
    assert event["response"]["error"] == {"code": "engine_dead", "message": "gone"}
    assert (done["status"], done["output"][0]["content"][0]["text"]) == ("failed", "he")


def test_an_abort_is_told_as_a_failure():
    events = ResponseEvents(HEAD)
    data, done = events.end(output(choice("he", (1,), finish_reason="abort")))
    assert read(data)[-1]["type"] == "response.failed"
    assert done["status"] == "cancelled"


PARTS = st.lists(
    st.tuples(st.sampled_from(["reasoning", "content", "call"]), st.text(min_size=1, max_size=4)), max_size=6
)


@settings(max_examples=25)
@given(PARTS, st.sampled_from(["stop", "length"]))
def test_items_add_up_to_the_response_whatever_was_said(parts, reason):
    """As OpenAI's own client puts them together; each part is said in two pieces."""
    head = ResponseHead(request=ResponsesRequest(input="hi", top_logprobs=0), model="m", store=False)
    events, data, outputs = ResponseEvents(head), b"", []
    for number, (kind, text) in enumerate(parts):
        for end in (len(text) // 2, len(text)):
            message, _ = said(*parts[:number], (kind, text[:end]))
            positions = [{one: lp(str(one))} for one in range(number + 1)]
            outputs.append(output(choice("x", range(number + 1), message=message, logprobs=positions)))
    last = output(choice("x", range(len(parts)), message=said(*parts)[0], finish_reason=reason))
    for one in (*outputs, last):
        data = data or events.begin()
        data += events.write(one)
    end, done = events.end(last)
    found = read(data + end)
    assert [one["sequence_number"] for one in found] == list(range(len(found)))
    assert found[-1]["response"] == json.loads(json.dumps(done))
    state = ResponseStreamState(input_tools=omit, text_format=omit)
    for one in found[:-1]:
        state.handle_event(EVENT.validate_python(one))
    snapshot = state._ResponseStreamState__current_snapshot.output
    assert [one.type for one in snapshot] == [one["type"] for one in done["output"]]
    for ours, theirs in zip(done["output"], snapshot, strict=True):
        if ours["type"] == "message":
            assert theirs.content[0].text == ours["content"][0]["text"]
        elif ours["type"] == "function_call":
            assert theirs.arguments == ours["arguments"]
    for place, item in enumerate(done["output"]):
        mine = [one for one in found if one.get("output_index") == place]
        assert [mine[0]["type"], mine[-1]["type"]] == ["response.output_item.added", "response.output_item.done"]
        assert mine[-1]["item"] == item
        deltas = "".join(one["delta"] for one in mine if one["type"].endswith(".delta"))
        assert deltas == (item.get("arguments") if "arguments" in item else item["content"][0]["text"])
        if item["type"] == "reasoning":
            assert [one["type"] for one in mine[-3:-1]] == [
                "response.reasoning_text.done",
                "response.content_part.done",
            ]
    kinds = [one["output_index"] for one in found if "output_index" in one]
    assert kinds == sorted(kinds)
