from __future__ import annotations

import pytest

from kernelet.contracts.serving import ParsersInfo
from kernelet_server_openai.protocol.base import read_fields
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.responses import LOGPROBS, ResponsesRequest


def request(**fields):
    return ResponsesRequest(**{"input": "hi", **fields})


def test_values_that_ask_for_nothing_pass():
    request(
        tools=[],
        tool_choice="auto",
        parallel_tool_calls=False,
        reasoning={"effort": None},
        truncation="disabled",
        service_tier="auto",
        text={"format": {"type": "text"}, "verbosity": "medium"},
        include=[LOGPROBS],
        metadata={"a": "b"},
        conversation=None,
        prompt=None,
    ).check_refused()


@pytest.mark.parametrize(
    "fields, param, advice",
    [
        ({"max_tool_calls": 1}, "max_tool_calls", "the client makes the calls"),
        ({"reasoning": {"summary": "concise"}}, "reasoning.summary", "as it is"),
        ({"text": {"verbosity": "low"}}, "text.verbosity", "leave it out"),
        ({"service_tier": "flex"}, "service_tier", "there is one tier"),
        ({"include": ["reasoning.encrypted_content"]}, "include", LOGPROBS),
        ({"stream_options": {"include_obfuscation": False}}, "stream_options", "set stream to true"),
        (
            {"stream": True, "stream_options": {"include_obfuscation": True}},
            "stream_options.include_obfuscation",
            "leave it out",
        ),
    ],
)
def test_what_nothing_does_is_refused(fields, param, advice):
    with pytest.raises(ApiError) as caught:
        request(**fields).check_refused()
    assert (caught.value.status, caught.value.param) == (400, param)
    assert advice in caught.value.message


TOOL = {"type": "function", "name": "f"}


@pytest.mark.parametrize(
    "fields, param, advice",
    [
        ({"tools": [TOOL]}, "tools", "kernelet-parsers-*"),
        ({"reasoning": {"effort": "low"}}, "reasoning.effort", "--reasoning-parser"),
        ({"tool_choice": "required"}, "tool_choice", "no tools"),
    ],
)
def test_what_needs_a_parser(fields, param, advice):
    with pytest.raises(ApiError, match=advice.replace("*", r"\*")) as caught:
        request(**fields).tool_use(ParsersInfo())
    assert (caught.value.status, caught.value.param) == (400, param)


def test_with_parsers():
    parsers = ParsersInfo(tool="x", reasoning="y", auto_tool_choice=True)
    asked = request(tools=[TOOL], reasoning={"effort": "low", "summary": "auto"}, parallel_tool_calls=False)
    asked.check_refused()
    use = asked.tool_use(parsers)
    assert (use.choice, use.only_first) == ("auto", True)
    assert use.tools == ({"type": "function", "function": {"name": "f"}},)
    assert asked.template() == {"reasoning_effort": "low"}


def test_parameters_of_the_engine():
    params = request(temperature=0.5, top_k=3, max_output_tokens=7, stop="x", seed=1).sampling_params()
    assert (params.temperature, params.top_k, params.max_tokens, params.stop, params.seed) == (0.5, 3, 7, "x", 1)
    assert params.logprobs is None


@pytest.mark.parametrize(
    "fields, expected",
    [({}, None), ({"top_logprobs": 0}, None), ({"top_logprobs": 2}, 2), ({"include": [LOGPROBS]}, 0)],
)
def test_logprobs_are_asked_for_in_two_ways(fields, expected):
    assert request(**fields).num_logprobs == expected


@pytest.mark.parametrize(
    "body, param",
    [
        (b"{}", "input"),
        (b'{"input": 5}', "input"),
        (b'{"input": "a", "n": 1}', "n"),
        (b'{"input": "a", "text": {"what": 1}}', "text.what"),
        (b'{"input": "a", "max_output_tokens": 99999999999999999999}', "max_output_tokens"),
        (b'{"input": "a", "metadata": {"a": 1}}', "metadata"),
        (b'{"input": "a", "reasoning": {"effort": "much"}}', "reasoning"),
        (b'{"input": "a", "tools": {}}', "tools"),
    ],
)
def test_wrong_bodies(body, param):
    with pytest.raises(ApiError) as caught:
        read_fields(ResponsesRequest, body)
    assert (caught.value.status, caught.value.param) == (400, param)
