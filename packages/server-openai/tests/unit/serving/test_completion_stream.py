from __future__ import annotations

from itertools import chain

from asgi_calls import post
from scripted_engine import ScriptedEngine, choice, lp, output

PATH = "/v1/completions"
PROMPT_LOGPROBS = [None, {2: lp("b")}, {3: lp("c")}]
STEPS = (
    output(choice("d", (4,), logprobs=[{4: lp("d")}]), prompt_logprobs=PROMPT_LOGPROBS),
    output(
        choice("def", (4, 5), logprobs=[{4: lp("d")}, {5: lp("ef")}], finish_reason="stop"),
        prompt_logprobs=PROMPT_LOGPROBS,
    ),
)


def stream(make_app, *steps, prompt="abc", **fields):
    reply = post(make_app(ScriptedEngine(*steps)), PATH, {"prompt": prompt, "stream": True, **fields})
    assert reply.status == 200
    return reply.events


def text_of(events, index=0):
    return "".join(one["text"] for event in events for one in event["choices"] if one["index"] == index)


def test_pieces_add_up(make_app):
    events = stream(make_app, *STEPS)
    assert text_of(events) == "def"
    assert [event["choices"][0]["finish_reason"] for event in events] == [None, "stop"]


def test_several_prompts(make_app):
    events = stream(make_app, *STEPS, prompt=["x", "y"], stream_options={"include_usage": True})
    assert [text_of(events, index) for index in (0, 1)] == ["def", "def"]
    assert events[-1]["usage"]["completion_tokens"] == 4
    assert events[-1]["choices"] == []


def test_a_stream_says_what_the_whole_answer_says(make_app):
    fields = {"echo": True, "logprobs": 1, "return_token_ids": True, "prompt_logprobs": 1}
    whole = post(make_app(ScriptedEngine(*STEPS)), PATH, {"prompt": "abc", **fields}).json()["choices"][0]
    choices = [event["choices"][0] for event in stream(make_app, *STEPS, **fields)]
    assert "".join(one["text"] for one in choices) == whole["text"]
    for name, values in whole["logprobs"].items():
        assert [*chain.from_iterable(one["logprobs"][name] for one in choices)] == values
    assert [*chain.from_iterable(one["token_ids"] for one in choices)] == whole["token_ids"]
    assert choices[0]["prompt_token_ids"] == whole["prompt_token_ids"]
    assert choices[0]["prompt_logprobs"] == whole["prompt_logprobs"]
    assert "prompt_logprobs" not in choices[1]


def test_usage_in_every_chunk(make_app):
    options = {"include_usage": True, "continuous_usage_stats": True}
    events = stream(make_app, *STEPS, stream_options=options)
    assert [event["usage"]["completion_tokens"] for event in events] == [1, 2, 2]


def test_echo_of_a_prompt_that_is_only_scored(make_app):
    done = output(choice("", (), finish_reason="length"))
    (event,) = stream(make_app, done, echo=True, max_tokens=0)
    assert event["choices"][0]["text"] == "abc"
