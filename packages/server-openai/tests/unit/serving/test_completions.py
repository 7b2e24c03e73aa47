from __future__ import annotations

import pytest
from asgi_calls import post
from scripted_engine import DONE, ScriptedEngine, asked, choice, lp, output

from kernelet.contracts.sampling import SamplingParams
from kernelet.errors import EngineDeadError, ParameterError, PromptError
from kernelet_server_openai.protocol.completions import Completion

PATH = "/v1/completions"


def complete(app, prompt="abc", **fields):
    return post(app, PATH, {"prompt": prompt, **fields})


def test_an_answer(make_app):
    engine = ScriptedEngine()
    found = complete(make_app(engine)).json()
    Completion.model_validate(found)
    assert found["choices"][0]["text"] == "hello"
    assert found["usage"]["total_tokens"] == 5
    assert asked(engine) == SamplingParams(max_tokens=16)


def test_answers_to_several_prompts_are_numbered(make_app):
    engine = ScriptedEngine(
        output(choice("a", (1,), finish_reason="stop"), choice("b", (2,), index=1, finish_reason="stop"))
    )
    found = complete(make_app(engine), ["x", "y"], n=2, cache_salt="s", request_id="mine").json()
    assert [(one["index"], one["text"]) for one in found["choices"]] == [(0, "a"), (1, "b"), (2, "a"), (3, "b")]
    assert found["usage"]["prompt_tokens"] == 6
    prompts = [(prompt, name) for prompt, _, name, _ in engine.asked]
    assert prompts == [
        ({"prompt": "x", "cache_salt": "s"}, "cmpl-mine-0"),
        ({"prompt": "y", "cache_salt": "s"}, "cmpl-mine-1"),
    ]


def test_what_is_said_to_connectors_and_what_they_say(make_app):
    given, said = {"do_remote_decode": True}, {"remote_host": "a"}
    made = output(choice("h", (7,)), kv_transfer_params=None)
    last = output(choice("hi", (7, 8), finish_reason="length"), kv_transfer_params=said)
    engine = ScriptedEngine(made, last)
    found = complete(make_app(engine), kv_transfer_params=given).json()
    Completion.model_validate(found)
    assert found["kv_transfer_params"] == said
    assert engine.asked[0][0] == {"prompt": "abc", "kv_transfer_params": given}
    reply = complete(make_app(engine), stream=True, stream_options={"include_usage": True})
    assert [event.get("kv_transfer_params") for event in reply.events] == [None, said, None]
    assert reply.events[1]["choices"][0]["finish_reason"] == "length"


def test_what_is_said_to_connectors_is_of_one_prompt(make_app):
    reply = complete(make_app(ScriptedEngine()), ["a", "b"], kv_transfer_params={"do_remote_decode": True})
    assert (reply.status, reply.json()["error"]["param"]) == (400, "kv_transfer_params")


def test_token_ids_go_to_the_engine_as_they_are(make_app):
    engine = ScriptedEngine()
    complete(make_app(engine), [5, 6])
    assert engine.asked[0][0] == {"prompt_token_ids": [5, 6]}


def test_logprobs_with_echo(make_app):
    engine = ScriptedEngine(
        output(
            choice("d", (4,), logprobs=[{4: lp("d", -0.5)}], finish_reason="length"),
            prompt_logprobs=[None, {2: lp("b")}, {3: lp("c")}],
        )
    )
    found = complete(make_app(engine), echo=True, logprobs=1).json()["choices"][0]
    assert found["text"] == "abcd"
    assert found["logprobs"]["token_logprobs"] == [None, -1.0, -1.0, -0.5]
    assert found["logprobs"]["tokens"] == ["", "b", "c", "d"]
    assert asked(engine).prompt_logprobs == 1


def test_all_that_can_be_told(make_app):
    engine = ScriptedEngine(
        output(
            choice("d", (4,), finish_reason="stop", stop_reason=4), prompt_logprobs=[None, {2: lp("b")}, {3: lp("c")}]
        )
    )
    found = complete(make_app(engine), prompt_logprobs=1, return_token_ids=True).json()["choices"][0]
    assert (found["token_ids"], found["prompt_token_ids"], found["stop_reason"]) == ([4], [1, 2, 3], 4)
    assert len(found["prompt_logprobs"]) == 3


@pytest.mark.parametrize(
    "error, status, param",
    [
        (ParameterError("max_tokens", "got 9"), 400, "max_tokens"),
        (PromptError("empty"), 400, "prompt"),
        (EngineDeadError("it stopped"), 503, None),
        (KeyError("secret"), 500, None),
    ],
)
def test_errors_of_the_engine(make_app, error, status, param):
    for stream in (False, True):
        reply = complete(make_app(ScriptedEngine(error)), stream=stream)
        assert (reply.status, reply.error["param"]) == (status, param)


@pytest.mark.parametrize(
    "fields, param",
    [
        ({"suffix": "x"}, "suffix"),
        ({"logprobs": 21}, "logprobs"),
        ({"logprobs": True}, "logprobs"),
        ({"prompt_logprobs": 21}, "prompt_logprobs"),
        ({"messages": []}, "messages"),
    ],
)
def test_what_is_refused_never_reaches_the_engine(make_app, fields, param):
    engine = ScriptedEngine()
    reply = complete(make_app(engine), **fields)
    assert (reply.status, reply.error["param"]) == (400, param)
    assert not engine.asked


def test_the_engine_tokenizes_texts_without_special_tokens_too(make_app):
    """It checks their lengths."""
    engine = ScriptedEngine(DONE)
    complete(make_app(engine), add_special_tokens=False, cache_salt="s")
    assert engine.asked[0][0] == {"prompt": "abc", "cache_salt": "s", "add_special_tokens": False}


def test_no_special_tokens_are_added_where_none_are_wanted(make_app, engine):
    found = complete(make_app(engine), "ab", add_special_tokens=False, max_tokens=1, return_token_ids=True).json()
    assert found["choices"][0]["prompt_token_ids"] == [97, 98]
