from __future__ import annotations

import asyncio
import sys

import pytest
from fake_openai import FakeServer

from kernelet.cli.serve_load.client import LoadClient, http_library
from kernelet.cli.usage import UsageError
from kernelet.errors import KerneletError


def ask(server, prompt, *, timeout=None, count=3, path="/v1/completions"):
    async def run():
        async with LoadClient(server.url, path, {}, timeout) as client:
            return await client.ask({"prompt": prompt, "max_tokens": count})

    return asyncio.run(run())


def test_an_answer(server):
    answer = ask(server, [5, 6])
    assert answer.error is None
    assert answer.text == "5 6 7 "
    assert (answer.prompt_tokens, answer.output_tokens) == (2, 3)
    assert len(answer.times) == 3
    assert answer.sent <= answer.times[0] <= answer.times[-1] <= answer.ended


def test_without_usage_parts_are_counted():
    with FakeServer(usage=False) as server:
        assert ask(server, [5], count=4).output_tokens == 4


@pytest.mark.parametrize(
    "prompt, kind, message",
    [
        ("refuse it", "HTTP 429", "too much"),
        ("break it", "error in the stream", "the engine died"),
        ("vanish", "ClientPayloadError", "transfer"),
        ("cut", "incomplete", "without"),
    ],
)
def test_what_goes_wrong_is_in_the_answer(server, prompt, kind, message):
    answer = ask(server, prompt)
    assert answer.error[0] == kind
    assert message in answer.error[1]


def test_a_time_limit(server):
    assert ask(server, "hang", timeout=0.3).error == ("timeout", "no complete answer after 0.3 s")


def test_nobody_is_there():
    async def model(url):
        async with LoadClient(url, "/v1/completions", {}) as client:
            return await client.first_model()

    with FakeServer() as server:
        assert asyncio.run(model(server.url)) == "fake"
    with pytest.raises(KerneletError, match="is the server running"):
        asyncio.run(model(server.url))
    assert ask(server, [1]).error[0] == "ClientConnectorError"


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(UsageError, match=r"pip install 'kernelet-core\[bench\]'"):
        http_library()
