"""Answers that are held to a form, through HTTP and OpenAI's own client, by the engines that are installed."""

from __future__ import annotations

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import httpx
import jsonschema
import openai
import pydantic
import pytest

from kernelet import AsyncLLM
from kernelet.engine.structured import lanes

null_server = pytest.importorskip("null_server")

MESSAGES = [{"role": "user", "content": "a"}]
OPENS = "{% for message in messages %}{{ message['content'] }}{% endfor %}<think>"
CLOSES = OPENS + "</think>"


class Answer(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")

    kind: Literal["sun", "Zürich"]
    sure: bool
    count: int = pydantic.Field(ge=3, le=40)
    parts: list[Literal["a", "b"]] = pydantic.Field(max_length=2)


class Weather(pydantic.BaseModel):
    """The weather of a day."""

    model_config = pydantic.ConfigDict(extra="forbid")

    city: Literal["Oslo", "Rome"]
    day: int = pydantic.Field(ge=1, le=7)


TOOL = openai.pydantic_function_tool(Weather, name="weather")
OTHER = {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "maxProperties": 0}}}
SCHEMA = {"name": "answer", "schema": Answer.model_json_schema()}
FORMAT = {"type": "json_schema", "json_schema": SCHEMA}
LOOSE = {**TOOL, "function": {key: value for key, value in TOOL["function"].items() if key != "strict"}}
DIGITS = "0.30000000000000001"
"""Of a number that is no float."""
BREAKS = [
    {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "strin"}}}},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"properties": {"a": "b"}}}}},
    {"structured_outputs": {"regex": "a(b"}},
    {"structured_outputs": {"regex": "^(?=a)b$"}},
    {"structured_outputs": {"grammar": "root ::= root"}},
    {"structured_outputs": {"grammar": 'root ::= "a"\nroot ::= "b"'}},
    {"structured_outputs": {"choice": []}},
    {"structured_outputs": {"regex": "a", "backend": "none-such"}},
    {"structured_outputs": {"regex": "a", "backend": "lmfe"}},
    {"structured_outputs": {"json": {"type": "array", "uniqueItems": True, "items": {"type": "string"}}}},
]


@pytest.fixture(scope="module")
def live(tiny_folder):
    plugins = ["core", "platform-cpu", "models-decoder", "parsers-tool", "parsers-reasoning"]
    engine = AsyncLLM(
        str(tiny_folder),
        plugins=[*plugins, "structured-guidance", "structured-xgrammar", "structured-lmfe"],
        structured_allowed_backends=["guidance", "xgrammar"],
        platform="cpu",
        dtype="float32",
        num_blocks=256,
        tool_call_parser="hermes",
        reasoning_parser="qwen3",
        enable_auto_tool_choice=True,
    )
    with null_server.LiveServer(engine, "tiny") as server:
        yield server
    asyncio.run(engine.shutdown())


@pytest.fixture(scope="module")
def client(live):
    with openai.OpenAI(base_url=f"{live.url}/v1", api_key="any", max_retries=0, timeout=120) as found:
        yield found


def ask(client, **fields):
    """A chat whose thought is over."""
    given = {"model": "tiny", "messages": MESSAGES, "max_tokens": 200, "temperature": 1.0}
    body = {"chat_template": CLOSES} | fields.pop("extra_body", {})
    return client.chat.completions.create(**given | fields, extra_body=body).choices[0]


def test_the_clients_own_parse(client):
    for seed in range(3):
        found = client.chat.completions.parse(
            model="tiny",
            messages=MESSAGES,
            response_format=Answer,
            seed=seed,
            extra_body={"chat_template": CLOSES},
        ).choices[0]
        assert isinstance(found.message.parsed, Answer)
        assert (found.finish_reason, found.structured) == ("stop", "enforced")


def test_the_clients_own_stream(client):
    with client.chat.completions.stream(
        model="tiny",
        messages=MESSAGES,
        response_format=Answer,
        seed=5,
        extra_body={"chat_template": CLOSES},
    ) as stream:
        last = stream.get_final_completion().choices[0]
    assert isinstance(last.message.parsed, Answer)


def test_responses(client):
    for seed in range(3):
        body = {"chat_template": CLOSES, "seed": seed}
        found = client.responses.parse(model="tiny", input="a", text_format=Answer, extra_body=body)
        if found.status == "completed":
            assert isinstance(found.output_parsed, Answer)
        assert found.structured == {"completed": "enforced", "incomplete": "unfinished"}[found.status]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "fields, names",
    [
        ({"tools": [LOOSE, OTHER], "tool_choice": "required"}, {"weather", "now"}),
        ({"tools": [TOOL, OTHER], "tool_choice": {"type": "function", "function": {"name": "weather"}}}, {"weather"}),
        ({"tools": [LOOSE, OTHER], "tool_choice": "required", "parallel_tool_calls": False}, {"weather", "now"}),
    ],
    ids=["required", "named", "one"],
)
def test_calls_that_must_come(client, fields, names, stream):
    given = {"model": "tiny", "messages": MESSAGES, "max_tokens": 400, "seed": 3}
    given["extra_body"] = {"chat_template": CLOSES}
    if stream:
        with client.chat.completions.stream(**given, **fields) as events:
            try:
                found = events.get_final_completion().choices[0]
            except openai.LengthFinishReasonError:  # a random model may go on with calls to the limit
                assert "parallel_tool_calls" not in fields
                assert fields["tool_choice"] == "required"
                return
    else:
        found = client.chat.completions.create(**given, **fields).choices[0]
    calls = found.message.tool_calls
    assert calls
    assert len(calls) == 1 or "parallel_tool_calls" not in fields
    ended = calls if found.finish_reason == "tool_calls" else calls[:-1]
    for call in ended:
        assert call.function.name in names
        arguments = json.loads(call.function.arguments)
        assert Weather.model_validate(arguments) if call.function.name == "weather" else arguments == {}
    assert found.finish_reason in {"tool_calls", "length"}
    assert found.finish_reason == "length" or not found.message.content


def test_strict_tools_leave_text_free_until_a_call_begins(client):
    found = ask(client, tools=[TOOL], seed=1, max_tokens=30)
    assert found.finish_reason in {"length", "stop", "tool_calls"}
    assert ask(client, tools=[TOOL], tool_choice="none", seed=1, max_tokens=5).message.tool_calls is None


@pytest.mark.parametrize("backend", ["guidance", "xgrammar"])
@pytest.mark.parametrize(
    "constraint, judge",
    [
        ({"choice": ["ja", "nein", "雨"]}, lambda text: text in {"ja", "nein", "雨"}),
        ({"regex": "[a-f]{3}-[0-9]{1,4}"}, lambda text: __import__("re").fullmatch("[a-f]{3}-[0-9]{1,4}", text)),
        ({"grammar": 'root ::= "(" root ")" | "x"'}, lambda text: text.strip("()") == "x"),
        ({"json": Answer.model_json_schema()}, Answer.model_validate_json),
    ],
    ids=["choice", "regex", "grammar", "json"],
)
def test_constraints_of_vllms_names(client, backend, constraint, judge):
    for seed in range(2):
        found = client.completions.create(
            model="tiny",
            prompt="a",
            max_tokens=300,
            seed=seed,
            extra_body={"structured_outputs": {**constraint, "backend": backend}},
        ).choices[0]
        assert found.structured == ("enforced" if found.finish_reason == "stop" else "unfinished")
        assert found.finish_reason == "length" or judge(found.text)


def test_engines_side_by_side_beside_free_requests(client):
    def one(number):
        backend = [None, "guidance", "xgrammar"][number % 3]
        held = {} if backend is None else {"structured_outputs": {"json": SCHEMA["schema"], "backend": backend}}
        return backend, ask(client, seed=number, extra_body=held, max_tokens=200 if held else 20)

    with ThreadPoolExecutor(9) as threads:
        together = list(threads.map(one, range(9)))
    for number, (backend, found) in enumerate(together):
        if backend is not None:
            jsonschema.validate(json.loads(found.message.content), SCHEMA["schema"])
        assert found.message.content == one(number)[1].message.content


@pytest.mark.parametrize("fields", BREAKS, ids=lambda fields: json.dumps(fields)[:60])
def test_what_is_refused_says_why_and_hurts_nobody(client, fields):
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, extra_body=fields)
    assert caught.value.param == next(iter(fields))
    for hidden in ("Traceback", ".cc", ".rs", "/work", "/tmp"):
        assert hidden not in caught.value.message
    answer = ask(client, extra_body={"structured_outputs": {"choice": ["ja"]}})
    assert answer.message.content == "ja"


def test_a_refusal_names_the_keyword(client):
    schema = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema}})
    assert "/properties/a/uniqueItems" in caught.value.message
    assert caught.value.param == "response_format"


@pytest.mark.parametrize(
    "path, fields",
    [
        (
            "chat/completions",
            {
                "messages": MESSAGES,
                "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"const": "@"}}},
            },
        ),
        ("completions", {"prompt": "a", "max_tokens": 60, "structured_outputs": {"json": {"const": "@"}}}),
        (
            "responses",
            {"input": "a", "text": {"format": {"type": "json_schema", "name": "x", "schema": {"const": "@"}}}},
        ),
    ],
)
def test_numbers_keep_their_digits(live, path, fields):
    template = {} if path == "completions" else {"chat_template": CLOSES}
    body = json.dumps({"model": "tiny", **template, **fields}).replace('"@"', DIGITS)
    reply = httpx.post(f"{live.url}/v1/{path}", content=body, headers={"content-type": "application/json"}, timeout=120)
    assert reply.status_code == 200, reply.text
    texts = set(re.findall(r'"(?:text|content)": ?"([^"]+)"', reply.text))
    assert texts == {DIGITS}
    assert path != "responses" or f'"const":{DIGITS}' in reply.text


def test_who_waits_for_too_many_others_is_told_to_come_again(client, monkeypatch):
    monkeypatch.setattr(lanes, "MAX_WAITING", 0)
    given = {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"const": "busy"}}}}
    with pytest.raises(openai.InternalServerError) as caught:
        ask(client, **given)
    assert caught.value.response.headers["retry-after"] == "1"
    assert caught.value.status_code == 503
    said = "0 other constraints wait to be compiled: try again later"
    assert caught.value.body == {"message": said, "type": "server_error", "param": None, "code": "busy"}
    monkeypatch.undo()
    assert ask(client, **given).message.content == '"busy"'


def test_who_is_still_thinking_has_not_answered(client):
    """The model is random: it never ends its thought by itself."""
    found = ask(client, response_format=FORMAT, max_tokens=20, extra_body={"chat_template": OPENS})
    assert (found.finish_reason, found.structured) == ("length", "unfinished")
    assert found.message.reasoning_content
    assert not found.message.content
    free = ask(client, max_tokens=5, extra_body={"chat_template": OPENS})
    assert not hasattr(free, "structured")


def test_a_form_and_a_call_that_must_come_exclude_each_other(client):
    with pytest.raises(openai.BadRequestError, match="leave one out"):
        ask(client, response_format=FORMAT, tools=[TOOL], tool_choice="required")
    with pytest.raises(openai.BadRequestError, match="leave one out") as caught:
        ask(client, tools=[TOOL], extra_body={"structured_outputs": {"regex": "a"}})
    assert caught.value.param == "tools"
