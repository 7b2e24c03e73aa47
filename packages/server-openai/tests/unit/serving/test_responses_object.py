from __future__ import annotations

import pytest
from openai.types.responses import Response
from scripted_engine import choice, lp, output

from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.responses import ResponsesRequest
from kernelet_server_openai.serving.responses_object import ResponseHead, status_of

LOGPROBS = [{7: lp("he", -0.5)}, {8: lp("llo", -0.25)}]


def head(**fields):
    return ResponseHead(request=ResponsesRequest(**{"input": "hi", **fields}), model="m", store=True)


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
    made = choice("hello", (7, 8), logprobs=LOGPROBS)
    assert head().part(made)["logprobs"] == []
    found = head(top_logprobs=1).part(made)["logprobs"]
    assert [(one["token"], one["logprob"], len(one["top_logprobs"])) for one in found] == [
        ("he", -0.5, 1),
        ("llo", -0.25, 1),
    ]
