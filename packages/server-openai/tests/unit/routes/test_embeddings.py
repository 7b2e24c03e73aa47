from __future__ import annotations

import asyncio

from asgi_calls import acall, post, until
from scripted_engine import ScriptedEngine

PATH = "/v1/embeddings"


def test_vectors_of_an_engine(make_app, engine):
    app = make_app(engine)
    found = [post(app, PATH, {"input": given}).json() for given in ("a", [97], ["a"], [[97]])]
    assert len({tuple(one["data"][0]["embedding"]) for one in found}) == 1
    assert {one["usage"]["prompt_tokens"] for one in found} == {1}
    assert post(app, PATH, {"input": ["a", [97]]}).error["param"] == "input"


def test_a_client_that_goes_away_ends_all_of_its_inputs(make_app):
    async def work():
        gone, scripted = asyncio.Event(), ScriptedEngine()
        scripted.vectors = asyncio.Event()
        calling = asyncio.ensure_future(acall(make_app(scripted), "POST", PATH, {"input": ["a", "b"]}, gone=gone))
        await until(lambda: scripted.running >= 2)
        gone.set()
        await calling
        assert scripted.running == 0

    asyncio.run(work())
