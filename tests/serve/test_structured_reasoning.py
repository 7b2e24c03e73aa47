"""Reasoning parser on and off, thinking on and off, every constraint, through HTTP: what was held parses.

The model says what it is told: a thought or none, then what was asked for or something else.
"""

from __future__ import annotations

import asyncio
import json
import re

import openai
import pytest
from echo_platform import PLUGINS, echo_engine
from null_server import LiveServer

SCHEMA = {
    "type": "object",
    "properties": {"kind": {"enum": ["sun", "Zürich"]}, "count": {"type": "integer", "minimum": 3, "maximum": 40}},
    "required": ["kind", "count"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
pytestmark = pytest.mark.long

TOOL = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
STRICT = {"type": "function", "function": {**TOOL["function"], "strict": True}}
NAMED = {"type": "function", "function": {"name": "look"}}
VALUE = '{"kind": "sun", "count": 7}'
CALL = '<tool_call>\n{"name": "look", "arguments": {"kind": "sun", "count": 7}}\n</tool_call>'
WRONG_CALL = '<tool_call>\n{"name": "look", "arguments": {"kind": "rain"}}\n</tool_call>'
WRONG = ("no <tool_call>", WRONG_CALL, '{"kind": "rain", "more": 1}', "<think>again</think>", "\n\n")


def is_value(text):
    value = json.loads(text)
    return value.keys() == {"kind", "count"} and value["kind"] in {"sun", "Zürich"} and 3 <= value["count"] <= 40


def has_calls(content, calls):
    return not content and calls and all(name == "look" and is_value(arguments) for name, arguments in calls)


def has_value(content, calls):
    return not calls and is_value(content)


FORMS = {
    "free": ({}, "hello", lambda content, calls: True),
    "schema": ({"response_format": FORMAT}, VALUE, has_value),
    "object": (
        {"response_format": {"type": "json_object"}},
        VALUE,
        lambda content, calls: not calls and isinstance(json.loads(content), dict),
    ),
    "choice": (
        {"structured_outputs": {"choice": ["ja", "雨"]}},
        "雨",
        lambda content, calls: not calls and content in {"ja", "雨"},
    ),
    "regex": (
        {"structured_outputs": {"regex": "[a-f]{2,5}"}},
        "abc",
        lambda content, calls: not calls and re.fullmatch("[a-f]{2,5}", content),
    ),
    "grammar": (
        {"structured_outputs": {"grammar": 'root ::= "(" root ")" | "x"'}},
        "((x))",
        lambda content, calls: not calls and re.fullmatch(r"\(*x\)*", content),
    ),
    "required": ({"tools": [TOOL], "tool_choice": "required"}, CALL, has_calls),
    "named": ({"tools": [TOOL], "tool_choice": NAMED}, CALL, has_calls),
    "strict": (
        {"tools": [STRICT]},
        f"Wait. {CALL}",
        lambda content, calls: all(name == "look" and is_value(arguments) for name, arguments in calls),
    ),
    "either, a call": (
        {"tools": [STRICT], "response_format": FORMAT},
        CALL,
        lambda content, calls: has_calls(content, calls) or has_value(content, calls),
    ),
    "either, a text": (
        {"tools": [TOOL], "response_format": FORMAT},
        VALUE,
        lambda content, calls: (calls and not content) or has_value(content, calls),
    ),
}
"""What is asked for, an answer that is as asked for, and who judges."""

THINKING = {
    "the prompt opens a thought": ("<think>\n", "hm</think>\n"),
    "the model opens a thought": ("", "<think>\nhm</think>\n"),
    "the prompt closes a thought": ("<think>\n\n</think>\n\n", ""),
    "none": ("", ""),
}
"""What stands at the end of the prompt, and what the model begins with."""


@pytest.fixture(scope="module", params=["qwen3", None], ids=["parser", "no parser"])
def parser(request):
    return request.param


@pytest.fixture(scope="module")
def client(parser, tmp_path_factory):
    engine = echo_engine(
        tmp_path_factory.mktemp("echo") / "model",
        plugins=(*PLUGINS, "parsers-tool", "parsers-reasoning", "structured-guidance"),
        tool_call_parser="hermes",
        reasoning_parser=parser,
        enable_auto_tool_choice=True,
    )
    with (
        LiveServer(engine, "echo") as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0, timeout=120) as client,
    ):
        yield client
    asyncio.run(engine.shutdown())


def ask(client, thinking, said, fields, *, stream=False, max_tokens=300):
    """(finish reason, ``structured``, reasoning, content, calls) of an answer."""
    end, thought = THINKING[thinking]
    template = "<|user|>{{ messages[0]['content'] }}<|assistant|>" + end.replace("\n", "{{ '\n' }}")
    body = {"chat_template": template, **fields}
    given = {"model": "echo", "messages": [{"role": "user", "content": thought + said}], "max_tokens": max_tokens}
    if not stream:
        (choice,) = client.chat.completions.create(**given, extra_body=body).choices
        message = choice.message
        calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]
        reasoning = getattr(message, "reasoning", None) or ""
        return choice.finish_reason, getattr(choice, "structured", None), reasoning, message.content or "", calls
    reasoning, content, calls, last = "", "", {}, None
    for chunk in client.chat.completions.create(**given, extra_body=body, stream=True):
        (last,) = chunk.choices
        reasoning += getattr(last.delta, "reasoning", None) or ""
        content += last.delta.content or ""
        for call in last.delta.tool_calls or ():
            name, arguments = calls.get(call.index, ("", ""))
            calls[call.index] = (name + (call.function.name or ""), arguments + (call.function.arguments or ""))
    return last.finish_reason, getattr(last, "structured", None), reasoning, content, list(calls.values())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("thinking", THINKING)
def test_what_was_held_parses(client, parser, thinking, form):
    fields, good, judge = FORMS[form]
    held = form != "free"
    for said in (good, *WRONG):
        whole = ask(client, thinking, said, fields)
        assert ask(client, thinking, said, fields, stream=True) == whole
        reason, structured, reasoning, content, calls = whole
        if reason == "length":
            assert structured == ("unfinished" if held else None), whole
            continue
        assert reason == ("tool_calls" if calls else "stop")
        assert structured == ("enforced" if held else None), whole
        assert judge(content, calls), whole
        if parser and held and THINKING[thinking][1]:
            assert reasoning == "hm", whole
    if parser or not THINKING[thinking][1]:
        assert ask(client, thinking, good, fields)[0] in {"stop", "tool_calls"}


@pytest.mark.parametrize("form", [form for form in FORMS if form != "free"])
def test_who_ends_while_it_thinks_has_not_answered(client, parser, form):
    fields, good, judge = FORMS[form]
    reason, structured, reasoning, content, calls = ask(
        client, "the prompt opens a thought", f"hmhm{good}", fields, max_tokens=2
    )
    if parser:
        assert (reason, structured, content, calls) == ("length", "unfinished", "", [])
        assert reasoning
    else:  # it is held from its first token on, and may be whole
        assert structured == "unfinished" or judge(content, calls)
