from __future__ import annotations

import pytest

from kernelet.contracts.serving import ParsersInfo
from kernelet_server_openai.protocol.base import read_fields
from kernelet_server_openai.protocol.chat import ChatCompletionRequest
from kernelet_server_openai.protocol.errors import ApiError

MESSAGES = [{"role": "user", "content": "x"}]


def request(**fields):
    return ChatCompletionRequest(messages=MESSAGES, **fields)


def test_without_a_limit_the_context_is_the_limit():
    assert request().output_limit is None


@pytest.mark.parametrize(
    "fields, name", [({"max_tokens": 3}, "max_tokens"), ({"max_completion_tokens": 3}, "max_completion_tokens")]
)
def test_two_names_of_one_limit(fields, name):
    assert request(**fields).output_limit == 3
    assert request(**fields).names["max_tokens"] == name


def test_two_limits_that_differ():
    assert request(max_tokens=3, max_completion_tokens=3).output_limit == 3
    with pytest.raises(ApiError, match="max_completion_tokens is 4"):
        _ = request(max_tokens=3, max_completion_tokens=4).output_limit


@pytest.mark.parametrize(
    "fields, expected",
    [({}, None), ({"logprobs": False}, None), ({"logprobs": True}, 0), ({"logprobs": True, "top_logprobs": 4}, 4)],
)
def test_number_of_logprobs(fields, expected):
    assert request(**fields).num_logprobs == expected


def test_top_logprobs_need_logprobs():
    with pytest.raises(ApiError, match="set logprobs to true"):
        _ = request(top_logprobs=2).num_logprobs


def test_arguments_of_the_template():
    fields = {"chat_template": "x", "add_generation_prompt": False, "chat_template_kwargs": {"a": 1}}
    fields["reasoning_effort"] = "low"
    assert request(**fields, continue_final_message=None).template() == fields


def test_null_means_what_leaving_out_means():
    assert read_fields(ChatCompletionRequest, b'{"messages": [{}], "include_reasoning": null}').include_reasoning
    assert request(parallel_tool_calls=None).max_calls is None
    assert request(parallel_tool_calls=False).max_calls == 1


def test_reasoning_needs_a_parser():
    assert request(reasoning_effort="none").tool_use(ParsersInfo()).tools == ()
    assert request(reasoning_effort="low").tool_use(None).tools == ()
    with pytest.raises(ApiError, match="--reasoning-parser") as caught:
        request(reasoning_effort="low").tool_use(ParsersInfo(tool="x", auto_tool_choice=True))
    assert caught.value.param == "reasoning_effort"
