"""The suite of endpoints: they speak ASGI under their prefix, end what they began, and hurt nobody but themselves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from kernelet.contracts.serving import Endpoint, EndpointOffer, EngineClient
from kernelet.serve.endpoints import PREFIX
from kernelet.testing.endpoint.asgi import Answer, Call, Exchange, call, scope_of
from kernelet.testing.null.engine import PosingEngine, null_engine
from kernelet.testing.offered import Offered
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import check

TASKS = frozenset({"generate", "embed"})
"""What a model can be asked for."""

GARBAGE = (b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"prompt": 1, "max_tokens": "x"}', b"a=1&b=2")


@dataclass(frozen=True, kw_only=True)
class EndpointCapabilities:
    """What can be asked of an endpoint.

    Attributes:
        answers: Requests that are answered with 200; paths are below the prefix.
        generates: A request whose answer begins at once and takes the engine long: for as many tokens as it may ask
            for; no text of the suite's model ends by itself. None: it generates nothing.
    """

    answers: tuple[Call, ...] = (Call(),)
    generates: Call | None = None


class EndpointSuite(Suite):
    """Fixture ``offered``: ``find_offer("acme_kernelet.plugin", EndpointOffer)``."""

    capabilities: ClassVar[EndpointCapabilities] = EndpointCapabilities()
    patience: ClassVar[float] = 20.0
    """Seconds until something that must happen counts as not happening."""

    @pytest.fixture
    def offered(self) -> Offered[EndpointOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', EndpointOffer)")

    @pytest.fixture
    def engine(self, tmp_path: Path) -> Iterator[PosingEngine]:
        """An engine on the null platform."""
        with null_engine(tmp_path / "null-model") as engine:
            yield engine

    @pytest.fixture
    def make(self, offered: Offered[EndpointOffer]) -> Callable[[EngineClient], Endpoint]:
        """Makes an endpoint as a frontend does once the engine is ready."""

        def make(engine: EngineClient) -> Endpoint:
            made = offered.target(offered.settings, engine)
            check(isinstance(made, Endpoint), f"{offered.offer.target} is no Endpoint")
            assert isinstance(made, Endpoint)
            check(callable(made.app), "app must be an ASGI 3 application: app(scope, receive, send)")
            return made

        return make

    def test_offer(self, offered: Offered[EndpointOffer]) -> None:
        offer = offered.offer
        check(PREFIX.fullmatch(offer.prefix), f"prefix must be one part of a path, like /console, not {offer.prefix!r}")
        unknown = sorted(set(offer.required_tasks) - TASKS)
        check(not unknown, f"required_tasks knows {sorted(TASKS)}, not {unknown}: the endpoint could never run")

    def test_answers_under_its_prefix(
        self, make: Callable[[EngineClient], Endpoint], engine: PosingEngine, offered: Offered[EndpointOffer]
    ) -> None:
        async def body(endpoint: Endpoint) -> None:
            for request in self.capabilities.answers:
                alone = await call(endpoint.app, request, offered.offer.prefix)
                check(alone.status == 200, f"{show(request)} must be answered with 200, not {alone.status}")
                proxied = await call(endpoint.app, request, f"/proxy{offered.offer.prefix}")
                check(
                    proxied.status == 200,
                    f"an endpoint finds its paths behind scope['root_path'], whatever that is: {show(request)} was "
                    f"{proxied.status} behind a proxy",
                )

        run(make(engine), body)

    def test_many_at_once(
        self, make: Callable[[EngineClient], Endpoint], engine: PosingEngine, offered: Offered[EndpointOffer]
    ) -> None:
        async def body(endpoint: Endpoint) -> None:
            requests = [one for one in self.capabilities.answers for _ in range(8)]
            found = await asyncio.gather(*(call(endpoint.app, one, offered.offer.prefix) for one in requests))
            check(all(one.status == 200 for one in found), "requests at the same time must be answered as one alone is")

        run(make(engine), body)

    def test_unknown_paths(
        self, make: Callable[[EngineClient], Endpoint], engine: PosingEngine, offered: Offered[EndpointOffer]
    ) -> None:
        async def body(endpoint: Endpoint) -> None:
            found = await call_or_500(endpoint, Call(path="/no-such-path/kernelet"), offered.offer.prefix)
            check(found.status == 404, f"a path that it does not know is a 404, not {found.status}")

        run(make(engine), body)

    def test_whatever_is_sent(
        self, make: Callable[[EngineClient], Endpoint], engine: PosingEngine, offered: Offered[EndpointOffer]
    ) -> None:
        known = [*self.capabilities.answers, *filter(None, [self.capabilities.generates])]

        async def body(endpoint: Endpoint) -> None:
            for method, path in {(one.method, one.path) for one in known} | {("POST", ""), ("PUT", "")}:
                for content in GARBAGE:
                    request = Call(method=method, path=path, body=content)
                    found = await call_or_500(endpoint, request, offered.offer.prefix)
                    check(
                        found.status < 500,
                        f"whatever a client sends is no failure of the endpoint: {show(request)} with the body "
                        f"{content!r} was {found.status}",
                    )

        run(make(engine), body)

    def test_a_client_that_is_gone(
        self, make: Callable[[EngineClient], Endpoint], engine: PosingEngine, offered: Offered[EndpointOffer]
    ) -> None:
        request = self.capabilities.generates
        if request is None:
            pytest.skip("it generates nothing")

        async def body(endpoint: Endpoint) -> None:
            exchange = Exchange(request.body)
            scope = scope_of(request, offered.offer.prefix)
            running = asyncio.ensure_future(endpoint.app(scope, exchange.receive, exchange.send))
            began = asyncio.ensure_future(exchange.begun.wait())
            await asyncio.wait({running, began}, timeout=self.patience, return_when=asyncio.FIRST_COMPLETED)
            began.cancel()
            check(
                not running.done(), f"`generates` must take long: {show(request)} was over at once, ask for more tokens"
            )
            exchange.hang_up()
            await asyncio.wait({running}, timeout=self.patience)
            ended = running.done()
            running.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await running
            check(ended, "an application must return when its client is gone")
            aborted = await eventually(self.patience, lambda: some_aborted(engine))
            check(aborted, "an endpoint must end its request in the engine when its client is gone")

        run(make(engine), body)

    def test_ends_what_it_began(
        self, make: Callable[[EngineClient], Endpoint], engine: PosingEngine, offered: Offered[EndpointOffer]
    ) -> None:
        threads = set(threading.enumerate())

        async def main() -> None:
            first, second = make(engine), make(engine)
            await first.startup()
            await second.startup()
            await call_all(self.capabilities.answers, first, offered.offer.prefix)
            await first.shutdown()
            check(engine.health().state == "ready", "the engine is not the endpoint's to shut down or to drain")
            await call_all(self.capabilities.answers, second, offered.offer.prefix)
            await second.shutdown()
            await asyncio.sleep(0.05)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            names = sorted(str(task.get_coro()) for task in left)
            for task in left:
                task.cancel()
            check(not left, f"shutdown() must end the tasks that the endpoint began: {names} run on")

        asyncio.run(main())
        left = {one for one in set(threading.enumerate()) - threads if not one.daemon and is_foreign(one)}
        check(not left, f"shutdown() must end the threads that the endpoint began: {sorted(map(str, left))} run on")


def is_foreign(thread: threading.Thread) -> bool:
    """Whether a thread is not one of the event loop's own pool, which ends with it."""
    return not thread.name.startswith("asyncio_")


async def call_all(requests: tuple[Call, ...], endpoint: Endpoint, prefix: str) -> None:
    """Asks everything once.

    Raises:
        ConformanceError: another endpoint of the same class changed what is answered.
    """
    for request in requests:
        found = await call(endpoint.app, request, prefix)
        check(found.status == 200, f"two endpoints of a class share nothing: {show(request)} was {found.status}")


async def call_or_500(endpoint: Endpoint, request: Call, prefix: str) -> Answer:
    """The answer's begin; what the application raises before it is the 500 that a server makes of it."""
    exchange = Exchange(request.body)
    running = asyncio.ensure_future(endpoint.app(scope_of(request, prefix), exchange.receive, exchange.send))
    began = asyncio.ensure_future(exchange.begun.wait())
    await asyncio.wait({running, began}, return_when=asyncio.FIRST_COMPLETED)
    began.cancel()
    exchange.hang_up()  # what is sent may be a request for a long text
    await asyncio.gather(running, return_exceptions=True)
    raised = running.exception()
    return Answer(status=500) if raised and not exchange.begun.is_set() else exchange.answer


async def some_aborted(engine: PosingEngine) -> bool:
    """Whether a request was aborted and none is left."""
    return await engine.num_aborted() > 0


async def eventually(patience: float, condition: Callable[[], Awaitable[bool]]) -> bool:
    """Whether a condition comes in time."""
    deadline = asyncio.get_running_loop().time() + patience
    while not await condition():
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(0.01)
    return True


def run(endpoint: Endpoint, body: Callable[[Endpoint], Awaitable[None]]) -> None:
    """A test within the endpoint's life."""

    async def main() -> None:
        await endpoint.startup()
        try:
            await body(endpoint)
        finally:
            await endpoint.shutdown()

    asyncio.run(main())


def show(request: Call) -> str:
    """A request in a message."""
    return f"{request.method} PREFIX{request.path}"
