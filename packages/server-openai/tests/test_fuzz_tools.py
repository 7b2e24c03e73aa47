"""Random tools, messages and answers with parsers: no request is the server's fault."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from echo_platform import echo_engine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from null_server import LiveServer

NAMES = ("type", "properties", "anyOf", "$ref", "enum", "items", "$defs", "a", "name", "function", "arguments")
WORDS = ("object", "string", "integer", "null", "array", "#/$defs/a")
PIECES = (
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    '{"name":"f","arguments":{"a":1}}',
    "<function=f>",
    "<parameter=a>",
    "</parameter>",
    "</function>",
    "<call>f{",
    "[f(a=1)]",
    "}",
    "[",
    "1",
    "é",
    "\n",
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4) | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=10,
)
SCHEMA = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from("ab"), JSON, max_size=2)},
    optional={"$defs": JSON, "required": JSON},
)
FUNCTION = st.fixed_dictionaries(
    {"name": st.sampled_from("fgh")}, optional={"parameters": SCHEMA | JSON, "description": JSON, "strict": JSON}
)
SAID = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
FIELDS = {
    "tool_choice": st.sampled_from(["none", "auto", "required"]) | JSON,
    "parallel_tool_calls": st.booleans(),
    "stream": st.booleans(),
}
CALLING = st.fixed_dictionaries({"role": st.just("assistant"), "tool_calls": JSON, "reasoning": JSON})
CHAT_TOOL = st.fixed_dictionaries({"type": st.just("function"), "function": FUNCTION})
CHAT = st.fixed_dictionaries(
    {"messages": st.builds(lambda before, text: [*before, user(text)], st.lists(CALLING | JSON, max_size=1), SAID)},
    optional={
        "tools": st.lists(CHAT_TOOL, max_size=2) | st.lists(CHAT_TOOL | JSON, max_size=2) | JSON,
        "n": st.integers(1, 2),
        "max_tokens": st.integers(1, 40),
        "logprobs": st.booleans(),
        "reasoning_effort": st.sampled_from(["none", "low"]) | JSON,
        **FIELDS,
    },
)
ITEM = st.fixed_dictionaries(
    {"type": st.sampled_from(["function_call", "reasoning"]), "call_id": JSON, "content": JSON}
)
RESPONSE_TOOL = FUNCTION.map(lambda function: {**function, "type": "function"})
RESPONSE = st.fixed_dictionaries(
    {"input": st.builds(lambda before, text: [*before, user(text)], st.lists(ITEM | JSON, max_size=1), SAID)},
    optional={"tools": st.lists(RESPONSE_TOOL, max_size=2) | JSON, "top_logprobs": st.integers(0, 2), **FIELDS},
)


def user(text):
    return {"role": "user", "content": text}


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    folder = tmp_path_factory.mktemp("echo") / "model"
    engine = echo_engine(folder, tool_call_parser="several", reasoning_parser="think", enable_auto_tool_choice=True)
    with LiveServer(engine, "echo") as server:
        yield server
    asyncio.run(engine.shutdown())


@pytest.mark.long
@pytest.mark.parametrize("path, bodies", [("chat/completions", CHAT), ("responses", RESPONSE)])
def test_no_request_is_the_servers_fault(live, path, bodies):
    statuses = set()
    with httpx.Client(timeout=60) as client:

        @settings(max_examples=400, suppress_health_check=list(HealthCheck), deadline=None)
        @given(bodies)
        def run(body):
            reply = client.post(f"{live.url}/v1/{path}", json=body)
            statuses.add(reply.status_code)
            if reply.status_code == 400:
                assert reply.json()["error"]["message"]
            else:
                assert '"error":{' not in reply.text

        run()
    assert statuses == {200, 400}
