from __future__ import annotations

import pytest
from asgi_calls import post
from parsed_text import said
from scripted_engine import DONE, ScriptedEngine, asked, choice, lp, output

from kernelet.contracts.sampling import SamplingParams
from kernelet.contracts.serving import ParsersInfo
from kernelet.errors import ChatTemplateError, EngineDeadError, ParameterError
from kernelet_server_openai.protocol.chat import ChatCompletion

PATH = "/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "hi"}]


def chat(app, **fields):
    return post(app, PATH, {"messages": MESSAGES, **fields})


def test_an_answer(make_app):
    engine = ScriptedEngine(output(choice("hel", (7,))), DONE)
    reply = chat(make_app(engine))
    found = reply.json()
    ChatCompletion.model_validate(found)
    assert found["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "hello", "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
            "stop_reason": None,
        }
    ]
    assert found["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "total_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    assert found["id"].startswith("chatcmpl-")
    assert engine.messages == [(MESSAGES, {})]


def test_what_the_engine_is_asked(make_app):
    engine = ScriptedEngine()
    fields = {"temperature": 0.5, "max_completion_tokens": 9, "logprobs": True, "top_logprobs": 3}
    chat(
        make_app(engine),
        **fields,
        priority=4,
        cache_salt="s",
        kv_transfer_params={"do_remote_decode": True},
        request_id="mine",
        chat_template="t",
    )
    ((prompt, params, name, priority),) = engine.asked
    assert params == SamplingParams(temperature=0.5, max_tokens=9, logprobs=3)
    assert (prompt.text, prompt.cache_salt, name, priority) == ("abc", "s", "chatcmpl-mine", 4)
    assert prompt.kv_transfer_params == {"do_remote_decode": True}
    assert engine.messages[0][1] == {"chat_template": "t"}


def test_what_connectors_say(make_app):
    told = {"remote_host": "a", "remote_block_ids": [[1]]}
    engine = ScriptedEngine(output(choice("x", (7,), finish_reason="length"), kv_transfer_params=told))
    found = chat(make_app(engine)).json()
    ChatCompletion.model_validate(found)
    assert found["kv_transfer_params"] == told


def test_several_answers_with_all_that_can_be_told(make_app):
    engine = ScriptedEngine(
        output(
            choice("a", (1,), finish_reason="stop", stop_reason="!", logprobs=[{1: lp("a")}]),
            choice("b", (2,), index=1, finish_reason="length", logprobs=[{2: lp("b")}]),
            prompt_logprobs=[None, {2: lp("x")}, {3: lp("y")}],
        )
    )
    found = chat(make_app(engine), n=2, logprobs=True, prompt_logprobs=0, return_token_ids=True).json()
    ChatCompletion.model_validate(found)
    assert [one["message"]["content"] for one in found["choices"]] == ["a", "b"]
    assert [one["stop_reason"] for one in found["choices"]] == ["!", None]
    assert [one["token_ids"] for one in found["choices"]] == [[1], [2]]
    assert found["choices"][0]["logprobs"]["content"][0]["bytes"] == [97]
    assert found["prompt_logprobs"][1] == {"2": {"logprob": -1.0, "rank": 1, "decoded_token": "x"}}
    assert found["prompt_token_ids"] == [1, 2, 3]


@pytest.mark.parametrize(
    "last, expected",
    [
        ({"role": "assistant", "content": "Well, "}, "Well, hello"),
        ({"role": "user", "content": "x"}, "hello"),
        ({"role": "assistant", "content": [{"type": "text", "text": "x"}]}, "hello"),
    ],
)
def test_echo_begins_with_the_assistants_message(make_app, last, expected):
    reply = post(make_app(ScriptedEngine()), PATH, {"messages": [last], "echo": True})
    assert reply.json()["choices"][0]["message"]["content"] == expected


@pytest.mark.parametrize(
    "error, status, param",
    [
        (ParameterError("max_tokens", "got 9"), 400, "max_completion_tokens"),
        (ParameterError("logprobs", "got 9"), 400, "top_logprobs"),
        (ChatTemplateError("refused"), 400, "messages"),
        (EngineDeadError("it stopped"), 503, None),
        (KeyError("secret"), 500, None),
    ],
)
def test_errors_of_the_engine(make_app, error, status, param):
    for stream in (False, True):
        reply = chat(make_app(ScriptedEngine(error)), max_completion_tokens=9, stream=stream)
        assert (reply.status, reply.error["param"]) == (status, param)


@pytest.mark.parametrize(
    "fields, param",
    [
        ({"tools": [{}]}, "tools"),
        ({"reasoning_effort": "low"}, "reasoning_effort"),
        ({"functions": [{}]}, "functions"),
        ({"messages": [{"role": "user", "content": [1]}]}, "messages[0].content[0]"),
        ({"stream_options": {}}, "stream_options"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"prompt_logprobs": -1}, "prompt_logprobs"),
        ({"max_tokens": 1, "max_completion_tokens": 2}, "max_tokens"),
        ({"logit_bias": {"x": 1}}, "logit_bias"),
        ({"frobnicate": 1}, "frobnicate"),
    ],
)
def test_what_is_refused_never_reaches_the_engine(make_app, fields, param):
    engine = ScriptedEngine()
    reply = chat(make_app(engine), **fields)
    assert (reply.status, reply.error["param"]) == (400, param)
    assert not engine.asked


def test_more_logprobs_where_the_operator_allows_them(make_app):
    engine = ScriptedEngine()
    assert chat(make_app(engine, max_logprobs=-1), logprobs=True, top_logprobs=200).status == 200
    assert asked(engine).logprobs == 200


TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
PARSERS = ParsersInfo(tool="x", reasoning="y", auto_tool_choice=True)


def test_tools_reach_the_template(make_app):
    engine = ScriptedEngine(parsers=PARSERS)
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    messages = [*MESSAGES, {"role": "assistant", "content": None, "tool_calls": [call]}]
    fields = {"tools": [TOOL], "tool_choice": "none", "reasoning_effort": "low", "chat_template_kwargs": {"x": 1}}
    assert post(make_app(engine), PATH, {"messages": messages, **fields}).status == 200
    ((given, template),) = engine.messages
    assert given[1]["tool_calls"][0]["function"]["arguments"] == {"a": 1}
    assert template == {
        "tools": [TOOL],
        "tool_choice": "none",
        "reasoning_effort": "low",
        "chat_template_kwargs": {"x": 1},
    }


def test_calls_and_reasoning(make_app):
    message, _ = said(("reasoning", "hm"), ("call", '{"a": 1}'))
    engine = ScriptedEngine(
        output(
            choice("...", (1, 2), message=message, finish_reason="stop"),
            choice("...", (1, 2), index=1, message=message, finish_reason="length"),
        ),
        parsers=PARSERS,
    )
    found = chat(make_app(engine), tools=[TOOL], n=2).json()
    ChatCompletion.model_validate(found)
    assert [one["finish_reason"] for one in found["choices"]] == ["tool_calls", "length"]
    assert found["choices"][0]["message"] == {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "reasoning": "hm",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "id0", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
    }
    assert found["usage"]["completion_tokens_details"] == {"reasoning_tokens": 2}


def test_the_flag_that_is_missing_is_named(make_app):
    engine = ScriptedEngine(parsers=ParsersInfo(tool="x"))
    reply = chat(make_app(engine), tools=[TOOL])
    assert (reply.status, reply.error["param"]) == (400, "tools")
    assert "--enable-auto-tool-choice" in reply.error["message"]
