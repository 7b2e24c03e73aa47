from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from scripted_engine import choice, output

from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.responses import ResponsesRequest
from kernelet_server_openai.serving.responses_events import ResponseEvents
from kernelet_server_openai.serving.responses_object import ResponseHead

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
    assert (event["type"], event["sequence_number"]) == ("response.failed", 4)
    assert event["response"]["error"] == {"code": "engine_dead", "message": "gone"}
    assert (done["status"], done["output"][0]["content"][0]["text"]) == ("failed", "he")


def test_an_abort_is_told_as_a_failure():
    events = ResponseEvents(HEAD)
    data, done = events.end(output(choice("he", (1,), finish_reason="abort")))
    assert read(data)[-1]["type"] == "response.failed"
    assert done["status"] == "cancelled"
