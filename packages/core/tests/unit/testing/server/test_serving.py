from __future__ import annotations

import asyncio

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.serving import ServerContext
from kernelet.testing.server.reference import ReferenceServer
from kernelet.testing.server.serving import Call, serving
from kernelet.testing.verdict import ConformanceError


def make():
    return ReferenceServer(Settings(plugin="p"), ServerContext(engine=None, served_model_names=("m",), num_frontends=3))


def test_a_server_is_asked():
    async def main():
        async with serving(make, 30.0) as it:
            assert await it.ask(Call(path="/frontend")) == (200, b"0 of 3")
            opened = await it.open(Call(path="/live"))
            assert opened.status == 200
            assert await asyncio.to_thread(opened.first) == b"l"
            assert await asyncio.to_thread(opened.rest) == b"ive"
            opened.close()
            assert not await it.refuses()
            it.server.stop()
            assert await it.ended()
            assert await it.refuses()
            assert await it.ask(Call()) == (0, None)

    asyncio.run(main())


def test_it_is_stopped_at_the_end():
    async def main():
        async with serving(make, 30.0) as it:
            pass
        assert it.running.done()
        assert it.socket.fileno() == -1

    asyncio.run(main())


class Sleeps(ReferenceServer):
    async def run(self, sockets):
        await asyncio.sleep(3600)


class Raises(ReferenceServer):
    async def run(self, sockets):
        raise OSError("no more files")


@pytest.mark.parametrize(
    "kind, error, message", [(Sleeps, ConformanceError, r"run\(\) must serve"), (Raises, OSError, "no more files")]
)
def test_one_that_does_not_serve(kind, error, message):
    async def main():
        async with serving(lambda: kind(Settings(plugin="p"), make().context), 0.1):
            raise AssertionError("not reached")

    with pytest.raises(error, match=message):
        asyncio.run(main())
