"""Every family's calls through the server: its model says what the family's template writes, a byte a token."""

from __future__ import annotations

import asyncio
import json

import openai
import pytest
from echo_platform import PLUGINS, echo_engine
from null_server import LiveServer

from kernelet.testing.tool_parser.samples import TOOLS, messages
from kernelet_parsers_tool import conformance

FAMILIES = conformance.Family.__subclasses__()
ASKED = [{"type": "function", "function": dict(tool)} for tool in TOOLS]


@pytest.fixture(scope="module", params=FAMILIES, ids=lambda family: family.__name__)
def family(request):
    return request.param


@pytest.fixture(scope="module")
def client(family, tmp_path_factory):
    engine = echo_engine(
        tmp_path_factory.mktemp(family.name) / "model",
        family.capabilities.tokens,
        (*PLUGINS, "parsers-tool"),
        tool_call_parser=family.name,
        enable_auto_tool_choice=True,
    )
    with (
        LiveServer(engine, "echo") as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0, timeout=120) as client,
    ):
        yield client
    asyncio.run(engine.shutdown())


@pytest.mark.long
def test_calls_come_back(family, client):
    for message in messages(family.capabilities):
        text = family.write(message, TOOLS)
        fields = {"model": "echo", "messages": [{"role": "user", "content": text}], "tools": ASKED}
        whole = client.chat.completions.create(**fields).choices[0]
        with client.chat.completions.stream(**fields) as stream:
            streamed = stream.get_final_completion().choices[0]
        for choice in (whole, streamed):
            calls = [
                (call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls or ()
            ]
            assert calls == [(call.name, json.loads(call.arguments)) for call in message.tool_calls]
            assert (choice.message.content or "").strip() == message.content
            assert choice.finish_reason == ("tool_calls" if message.tool_calls else "stop")
