from __future__ import annotations

import asyncio

import pytest
from asgi_calls import acall, post, until
from scripted_engine import DONE, ScriptedEngine

PATH = "/v1/completions"


def test_an_answer(make_app):
    assert post(make_app(ScriptedEngine()), PATH, {"prompt": "x"}).json()["choices"][0]["text"] == "hello"


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_ends_all_of_its_prompts(make_app, stream):
    async def work():
        gone, engine = asyncio.Event(), ScriptedEngine(asyncio.Event(), DONE)
        body = {"prompt": ["a", "b", "c"], "stream": stream}
        calling = asyncio.ensure_future(acall(make_app(engine), "POST", PATH, body, gone=gone))
        await until(lambda: engine.running >= 3)
        gone.set()
        await calling
        assert engine.running == 0
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(work())
