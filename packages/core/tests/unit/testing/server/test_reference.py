from __future__ import annotations

import asyncio

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.serving import EngineHealth, MountedEndpoint, ServerContext
from kernelet.errors import ConfigError
from kernelet.testing.null.engine import null_engine
from kernelet.testing.server.faults import generation
from kernelet.testing.server.reference import ReferenceServer, inside
from kernelet.testing.server.serving import Call, serving


def test_its_option():
    ReferenceServer.check_settings(Settings(plugin="p", values={"greeting": "x"}))
    with pytest.raises(ConfigError, match="greeting"):
        ReferenceServer.check_settings(Settings(plugin="p", values={"greeting": ""}))


@pytest.mark.parametrize("path, yes", [("/a", True), ("/a/", True), ("/a/b", True), ("/ab", False), ("/b/a", False)])
def test_what_is_an_endpoints(path, yes):
    assert inside(path, MountedEndpoint(name="a", prefix="/a", app=None)) is yes


def test_errors_have_a_status(tmp_path):
    async def main(engine):
        context = ServerContext(engine=engine, served_model_names=("m",))
        async with serving(lambda: ReferenceServer(Settings(plugin="p"), context), 60.0) as it:
            assert (await it.ask(Call(path="/nothing")))[0] == 404
            assert (await it.ask(Call(method="POST", path="/generate", body=b"{")))[0] == 400
            assert (await it.ask(generation(-1)))[0] == 400
            engine.pose = EngineHealth(state="draining")
            assert await it.ask(Call(path="/ready")) == (503, b"draining")
            await engine.shutdown()
            status, text = await it.ask(generation(5))
            assert status == 503
            assert b"shut down" in text

    with null_engine(tmp_path) as engine:
        asyncio.run(main(engine))
