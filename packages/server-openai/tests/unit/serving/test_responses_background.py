from __future__ import annotations

import asyncio

from asgi_calls import acall, until
from scripted_engine import ScriptedEngine, choice, output

from kernelet.errors import EngineDeadError, ParameterError
from kernelet_server_openai.serving import responses_background

PATH = "/v1/responses"
DONE = output(choice("hello", (1, 2), finish_reason="stop"))


async def begin(app):
    reply = await acall(app, "POST", PATH, {"input": "hi", "background": True})
    return reply.json()


async def look(app, name):
    return (await acall(app, "GET", f"{PATH}/{name}")).json()


def test_it_runs_while_nobody_waits(make_app):
    async def main():
        go = asyncio.Event()
        engine = ScriptedEngine(go, DONE)
        app = make_app(engine)
        made = await begin(app)
        assert made["status"] == "queued"
        await until(lambda: engine.running == 1)
        assert (await look(app, made["id"]))["status"] == "in_progress"
        go.set()
        await until(lambda: not app.state.api.background)
        found = await look(app, made["id"])
        assert (found["status"], found["output"][0]["content"][0]["text"]) == ("completed", "hello")

    asyncio.run(main())


def test_a_failure_is_kept(make_app):
    async def main(error, code):
        app = make_app(ScriptedEngine(error))
        made = await begin(app)
        await until(lambda: not app.state.api.background)
        found = await look(app, made["id"])
        assert (found["status"], found["error"]["code"]) == ("failed", code)

    asyncio.run(main(EngineDeadError("gone"), "engine_dead"))
    asyncio.run(main(ParameterError("max_tokens", "got 0"), "invalid_request_error"))


def test_cancelling_keeps_what_there_was(make_app):
    async def main():
        engine = ScriptedEngine(output(choice("he", (1,))), asyncio.Event())
        app = make_app(engine)
        made = await begin(app)
        await until(lambda: engine.running == 1)
        await asyncio.sleep(0)
        found = (await acall(app, "POST", f"{PATH}/{made['id']}/cancel")).json()
        assert found["status"] == "cancelled"
        assert engine.running == 0
        assert (await look(app, made["id"]))["status"] == "cancelled"

    asyncio.run(main())


def test_so_many_may_run(make_app, monkeypatch):
    async def main():
        monkeypatch.setattr(responses_background, "MAX_RUNNING", 1)
        go = asyncio.Event()
        app = make_app(ScriptedEngine(go, DONE))
        await begin(app)
        reply = await acall(app, "POST", PATH, {"input": "hi", "background": True})
        assert (reply.status, reply.error["param"]) == (429, "background")
        go.set()
        await until(lambda: not app.state.api.background)
        assert (await begin(app))["status"] == "queued"
        await until(lambda: not app.state.api.background)

    asyncio.run(main())
