"""The suite of servers: probes that tell the truth, ends that are orderly, and requests that end with their clients."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from kernelet.contracts.serving import EngineHealth, MountedEndpoint, Scope, Send, Server, ServerContext, ServerOffer
from kernelet.serve.endpoints import Guarded
from kernelet.testing.null.engine import PosingEngine, null_engine
from kernelet.testing.offered import Offered
from kernelet.testing.server.serving import Call, Serving, bound, serving
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import check

MODEL = "null"
"""Name under which the model is served."""

SHORT, LONG, ENDLESS = 5, 1500, 1 << 19
"""Tokens of a request that is soon done, that takes a while, and that never ends."""

REFUSES_SECONDS = 0.3
"""Between two looks at whether connections are refused: asyncio loses one that comes in the turn in which it stops."""

STATES = ("starting", "stalled", "dead", "draining", "asleep")
"""Of an engine to which no requests should be sent."""


@dataclass(frozen=True, kw_only=True)
class ServerCapabilities:
    """What can be asked of a server.

    Attributes:
        live: Path that says whether the process lives.
        ready: Path that says whether requests should be sent here.
        generate: A request that is answered with a stream of so many tokens of the model ``"null"``, stop tokens
            ignored. None: it cannot be asked for that.
    """

    live: str = "/live"
    ready: str = "/ready"
    generate: Callable[[int], Call] | None = None


class ServerSuite(Suite):
    """Fixture ``offered``: ``find_offer("acme_kernelet.plugin", ServerOffer)``."""

    capabilities: ClassVar[ServerCapabilities] = ServerCapabilities()
    patience: ClassVar[float] = 20.0
    """Seconds until something that must happen counts as not happening."""

    @pytest.fixture
    def offered(self) -> Offered[ServerOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', ServerOffer)")

    @pytest.fixture
    def engine(self, tmp_path: Path) -> Iterator[PosingEngine]:
        """An engine on the null platform."""
        with null_engine(tmp_path / "null-model") as engine:
            yield engine

    @pytest.fixture
    def make(self, offered: Offered[ServerOffer], engine: PosingEngine) -> Callable[..., Server]:
        """Makes a server as a frontend does; arguments are fields of its context."""

        def make(**fields: Any) -> Server:
            check(
                isinstance(offered.target, type) and issubclass(offered.target, Server),
                f"{offered.offer.target} is no Server",
            )
            offered.target.check_settings(offered.settings)
            context = ServerContext(engine=engine, served_model_names=(MODEL,), **fields)
            made: Server = offered.target(offered.settings, context)
            return made

        return make

    @pytest.fixture
    def generate(self) -> Callable[[int], Call]:
        """A request for so many tokens."""
        if self.capabilities.generate is None:
            pytest.skip("it cannot be asked to generate")
        return self.capabilities.generate

    def test_offer(self, offered: Offered[ServerOffer]) -> None:
        offer = offered.offer
        unknown = sorted(set(offer.flags.values()) - set(offered.settings.values))
        check(not unknown, f"flags set options of the plugin: it has none that is called {unknown}")
        odd = [flag for flag in offer.flags if flag != flag.strip("-").lower() or "_" in flag or not flag]
        check(not odd, f"flags are written without dashes before them, in lower case: {odd}")
        check(all(path and "/" not in path for path in offer.paths), "paths are first parts: v1, not /v1/models")
        mine = {path.strip("/").partition("/")[0] for path in (self.capabilities.live, self.capabilities.ready)}
        check(
            mine <= set(offer.paths),
            f"paths must name what the server answers itself, so that no endpoint gets it: {mine}",
        )

    def test_serves_until_it_is_stopped(self, make: Callable[..., Server]) -> None:
        async def body(it: Serving) -> None:
            found, _ = await it.ask(Call(path=self.capabilities.live))
            check(
                found == 200, f"{self.capabilities.live} must be answered with 200 while the process lives, not {found}"
            )
            check(not it.running.done(), "run() must serve until stop()")
            await self.stopped(it)
            check(
                it.socket.fileno() == -1, "run() must close its sockets when it is stopped, so that clients are refused"
            )

        self.run(make, body)

    def test_stop_before_run(self, make: Callable[..., Server]) -> None:
        async def main() -> None:
            server, own = make(), bound()
            server.stop()
            running = asyncio.ensure_future(server.run([own]))
            await asyncio.wait({running}, timeout=self.patience)
            early = running.done()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            own.close()
            check(early, "run() of a server that was stopped before must return at once")

        asyncio.run(main())

    def test_leaves_signals_alone(self, make: Callable[..., Server]) -> None:
        numbers = (signal.SIGTERM, signal.SIGINT)

        async def body(it: Serving) -> None:
            before = [signal.getsignal(number) for number in numbers]
            await it.ask(Call(path=self.capabilities.live))
            marks.append(before)

        marks: list[list[Any]] = []
        if threading.current_thread() is not threading.main_thread():
            pytest.skip("signals belong to the main thread")
        loop_own = [signal.getsignal(number) for number in numbers]
        self.run(make, body)
        check(
            marks[0][0] is loop_own[0] and [signal.getsignal(number) for number in numbers] == loop_own,
            "signals are not the server's: run() must install no handler",
        )

    @pytest.mark.parametrize("state", STATES)
    def test_ready_follows_the_engine(self, make: Callable[..., Server], engine: PosingEngine, state: str) -> None:
        async def body(it: Serving) -> None:
            ready, live = Call(path=self.capabilities.ready), Call(path=self.capabilities.live)
            engine.pose = EngineHealth(state="ready")
            found, _ = await it.ask(ready)
            check(found == 200, f"{ready.path} must be 200 while the engine is ready, not {found}")
            engine.pose = EngineHealth(state=state, detail="as a test says", age=1.0)
            found, _ = await it.ask(ready)
            check(
                found == 503,
                f"{ready.path} must be 503 while the engine is not ready: it was {found} while it was {state}",
            )
            found, _ = await it.ask(live)
            check(
                found == 200, f"{live.path} is about the process, not the engine: it was {found} while that was {state}"
            )

        self.run(make, body)

    def test_probes_do_not_wait(self, make: Callable[..., Server], engine: PosingEngine) -> None:
        async def body(it: Serving) -> None:
            engine.silent = True
            for path in (self.capabilities.live, self.capabilities.ready):
                found, _ = await it.ask(Call(path=path))
                check(found == 200, f"probes must not wait for the engine, ask its health(): {path} got no answer")

        self.run(make, body)

    def test_stop_finishes_what_runs(
        self, make: Callable[..., Server], engine: PosingEngine, generate: Callable[[int], Call]
    ) -> None:
        async def body(it: Serving) -> None:
            opened = await it.open(generate(LONG))
            check(opened.status == 200, f"the request for {LONG} tokens must be answered with 200, not {opened.status}")
            first = await asyncio.to_thread(opened.first)
            engine.going.clear()  # what runs goes on running, however fast the machine is
            it.server.stop()
            it.server.stop()
            await asyncio.sleep(REFUSES_SECONDS)
            refused = await eventually(self.patience, it.refuses, REFUSES_SECONDS)
            engine.going.set()
            rest = await asyncio.to_thread(opened.rest)
            opened.close()
            check(first and rest is not None, "stop() must let what runs finish: an answer was cut")
            check(refused, "after stop(), new connections must be refused")
            check(await it.ended(), "run() must return once stop() was called and what ran has finished")

        self.run(make, body)

    def test_stop_now_cuts(
        self, make: Callable[..., Server], engine: PosingEngine, generate: Callable[[int], Call]
    ) -> None:
        async def body(it: Serving) -> None:
            opened = await it.open(generate(ENDLESS))
            await asyncio.to_thread(opened.first)
            it.server.stop()
            it.server.stop_now()
            ended = await it.ended()
            opened.close()
            check(ended, "stop_now() must close every connection, and run() return soon")
            await self.aborted(engine, "a request that was cut must be ended in the engine")

        self.run(make, body)

    def test_a_client_that_is_gone(
        self, make: Callable[..., Server], engine: PosingEngine, generate: Callable[[int], Call]
    ) -> None:
        async def body(it: Serving) -> None:
            opened = await it.open(generate(ENDLESS))
            await asyncio.to_thread(opened.first)
            opened.close()
            await self.aborted(engine, "a request whose client is gone must be ended in the engine")
            found, rest = await it.ask(generate(SHORT))
            check(found == 200 and rest, "a client that is gone must not hurt the next one")

        self.run(make, body)

    def test_endpoints(self, make: Callable[..., Server]) -> None:
        seen: list[Scope] = []

        async def beside(scope: Scope, _: Any, send: Send) -> None:
            seen.append(scope)
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
            await send({"type": "http.response.body", "body": b"ok"})

        async def broken(*_: Any) -> None:
            raise ValueError("as a test wants it")

        endpoints = (
            MountedEndpoint(name="beside", prefix="/beside", app=Guarded("beside", beside)),
            MountedEndpoint(name="broken", prefix="/broken", app=Guarded("broken", broken)),
        )

        async def body(it: Serving) -> None:
            for path in ("/beside/a/b", "/beside/"):
                status, said = await it.ask(Call(path=path))
                check(
                    status == 200 and said == b"ok",
                    f"every path under a prefix is its endpoint's: {path} was {status}",
                )
            scope = seen[0]
            right = scope["root_path"].endswith("/beside") and scope["path"].endswith("/beside/a/b")
            check(right, "an endpoint is given the whole path, and its prefix at the end of root_path")
            status, _ = await it.ask(Call(path="/broken/x"))
            check(status == 500, f"an endpoint that raises is a 500 of that request: it was {status}")
            status, _ = await it.ask(Call(path="/besides"))
            check(status == 404, f"a path that only looks like a prefix is not the endpoint's: /besides was {status}")
            status, _ = await it.ask(Call(path=self.capabilities.live))
            check(status == 200, "an endpoint that raises must not hurt the server")

        self.run(lambda: make(endpoints=endpoints), body)

    def test_frontends_share_a_socket(self, make: Callable[..., Server]) -> None:
        """Each has its own duplicate of the descriptor, as processes have."""

        async def main() -> None:
            own, live = bound(), Call(path=self.capabilities.live)
            with own, own.dup() as other:
                async with serving(lambda: make(num_frontends=2), self.patience, own) as one:
                    second = make(num_frontends=2, frontend_index=1)
                    async with serving(lambda: second, self.patience, other) as two:
                        await self.stopped(one)
                        for _ in range(4):
                            found, _ = await two.ask(live)
                            check(found == 200, "a server that stops must not stop others that accept from its socket")

        asyncio.run(main())

    def test_leaves_nothing_behind(self, make: Callable[..., Server]) -> None:
        async def body(it: Serving) -> None:
            await asyncio.gather(*(it.ask(Call(path=self.capabilities.live)) for _ in range(8)))
            before = {it.running, asyncio.current_task()}
            await self.stopped(it)
            await asyncio.sleep(0.05)
            left = {str(task.get_coro()) for task in asyncio.all_tasks() - before}
            check(not left, f"run() must end its tasks before it returns: {sorted(left)} run on")

        self.run(make, body)

    # --- helpers of the tests --------------------------------------------------------------------

    def run(self, make: Callable[..., Server], body: Callable[[Serving], Awaitable[None]]) -> None:
        """A test on a server that serves."""

        async def main() -> None:
            async with serving(make, self.patience) as it:
                await body(it)

        asyncio.run(main())

    async def stopped(self, it: Serving) -> None:
        """Stops a server that has nothing to do.

        Raises:
            ConformanceError: it goes on.
        """
        it.server.stop()
        check(await it.ended(), "run() of a server that has nothing to do must return soon after stop()")

    async def aborted(self, engine: PosingEngine, sentence: str) -> None:
        """Waits for the end of a request.

        Raises:
            ConformanceError: it runs on.
        """

        async def some() -> bool:
            return await engine.num_aborted() > 0

        check(await eventually(self.patience, some), sentence)


async def eventually(patience: float, condition: Callable[[], Awaitable[bool]], pause: float = 0.01) -> bool:
    """Whether a condition comes in time."""
    deadline = asyncio.get_running_loop().time() + patience
    while not await condition():
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(pause)
    return True
