from __future__ import annotations

import asyncio

import pytest
from asgi_calls import acall, call, post, until
from scripted_engine import DONE, ScriptedEngine, choice, output

PATH = "/v1/chat/completions"
CHAT = {"messages": [{"role": "user", "content": "x"}]}


def test_an_answer(make_app):
    assert post(make_app(ScriptedEngine()), PATH, CHAT).json()["choices"][0]["message"]["content"] == "hello"
    assert call(make_app(ScriptedEngine()), "GET", PATH).status == 405


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("items", [(), (output(choice("h")),)], ids=["before", "within"])
def test_a_client_that_goes_away_ends_its_request(make_app, stream, items):
    async def work():
        gone, engine = asyncio.Event(), ScriptedEngine(*items, asyncio.Event(), DONE)
        calling = asyncio.ensure_future(acall(make_app(engine), "POST", PATH, {**CHAT, "stream": stream}, gone=gone))
        await until(lambda: engine.running >= 1)
        gone.set()
        await calling
        assert engine.running == 0
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(work())


def test_a_slow_reader_gets_what_piled_up_at_once(make_app):
    async def work():
        reading, engine = asyncio.Event(), ScriptedEngine()
        engine.items = (output(choice("h")), DONE)
        calling = asyncio.ensure_future(
            acall(make_app(engine), "POST", PATH, {**CHAT, "stream": True}, reading=reading)
        )
        for _ in range(50):
            await asyncio.sleep(0)
        assert engine.running == 1
        reading.set()
        assert len((await calling).events) == 3

    asyncio.run(work())
