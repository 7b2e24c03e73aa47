"""Wrong servers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import Sequence
from socket import socket
from typing import Any

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import SamplingParams
from kernelet.contracts.serving import Receive, Scope, Send, ServerOffer
from kernelet.testing.faults import Fault
from kernelet.testing.offered import Offered
from kernelet.testing.server.reference import PATHS, TEXT, ReferenceServer, inside, reply
from kernelet.testing.server.serving import Call
from kernelet.testing.server.suite import ServerCapabilities, ServerSuite


def generation(num_tokens: int) -> Call:
    """What the reference is asked."""
    return Call(method="POST", path="/generate", body=json.dumps({"prompt": "x", "max_tokens": num_tokens}).encode())


ABILITIES = ServerCapabilities(generate=generation)


def suite_of(target: type[Any], **fields: Any) -> type[ServerSuite]:
    """The suite as the author of that server writes it."""

    class Faulty(ServerSuite):
        capabilities = ABILITIES
        patience = 3.0

        @pytest.fixture
        def offered(self) -> Offered[ServerOffer]:
            given = {"paths": PATHS, **fields}
            offer = ServerOffer(name="faulty", target=f"{target.__module__}:{target.__qualname__}", **given)
            settings = Settings(plugin="faulty", values={"greeting": "hello"})
            return Offered(offer=offer, settings=settings, target=target)

    return Faulty


class NotAServer:
    def __init__(self, *_: object) -> None:
        """Takes anything."""


class AlwaysReady(ReferenceServer):
    def _ready(self) -> tuple[int, str]:
        return 200, "ready"


class DiesWithTheEngine(ReferenceServer):
    def _live(self) -> tuple[int, str]:
        return self._ready()


class AsksTheEngine(ReferenceServer):
    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/ready":
            await self.context.engine.stats()
        await super()._route(scope, receive, send)


class CutsAtOnce(ReferenceServer):
    def stop(self) -> None:
        self.stop_now()


class NeverCuts(ReferenceServer):
    def stop_now(self) -> None:
        self.stop()


class ListensOn(ReferenceServer):
    """Takes new connections while it finishes the old ones."""

    async def run(self, sockets: Sequence[socket]) -> None:
        with contextlib.ExitStack() as stack:
            kept = [stack.enter_context(one.dup()) for one in sockets]
            await super().run(sockets)
            del kept


class KeepsSockets(ReferenceServer):
    """Accepts from duplicates, and leaves what it was given open: clients come and wait for nobody."""

    async def run(self, sockets: Sequence[socket]) -> None:
        await super().run([one.dup() for one in sockets])


class ShutsTheSocket(ReferenceServer):
    """Ends the socket itself, for everybody who accepts from it."""

    async def run(self, sockets: Sequence[socket]) -> None:
        import socket as sockets_module

        with contextlib.ExitStack() as stack:
            kept = [stack.enter_context(one.dup()) for one in sockets]
            await super().run(sockets)
            for one in kept:
                with contextlib.suppress(OSError):
                    one.shutdown(sockets_module.SHUT_RDWR)


class TakesSignals(ReferenceServer):
    async def run(self, sockets: Sequence[socket]) -> None:
        before = signal.signal(signal.SIGTERM, lambda *_: self.stop())
        try:
            await super().run(sockets)
        finally:
            signal.signal(signal.SIGTERM, before)


class ForgetsAnEarlyStop(ReferenceServer):
    async def run(self, sockets: Sequence[socket]) -> None:
        self._stopping = False
        await super().run(sockets)


class GoesOn(ReferenceServer):
    """Computes for clients that are gone."""

    async def _generate(self, receive: Receive, send: Send) -> None:
        asked = json.loads((await receive())["body"])
        params = SamplingParams(temperature=0.0, max_tokens=asked["max_tokens"], ignore_eos=True)
        await send({"type": "http.response.start", "status": 200, "headers": TEXT})
        async for _ in self.context.engine.generate(asked["prompt"], params):
            with contextlib.suppress(OSError):
                await send({"type": "http.response.body", "body": b".", "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class NoPrefix(ReferenceServer):
    """Cuts prefixes off paths."""

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        for mounted in self.context.endpoints:
            if inside(scope["path"], mounted):
                await mounted.app({**scope, "path": scope["path"].removeprefix(mounted.prefix)}, receive, send)
                return
        await super()._route(scope, receive, send)


class AnyPrefix(ReferenceServer):
    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        for mounted in self.context.endpoints:
            if scope["path"].startswith(mounted.prefix):
                await mounted.app({**scope, "root_path": mounted.prefix}, receive, send)
                return
        await super()._route(scope, receive, send)


class NoEndpoints(ReferenceServer):
    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        if any(inside(scope["path"], mounted) for mounted in self.context.endpoints):
            await reply(send, 404, "no such path")
            return
        await super()._route(scope, receive, send)


class LeavesATask(ReferenceServer):
    async def run(self, sockets: Sequence[socket]) -> None:
        self._task = asyncio.create_task(asyncio.sleep(3600))
        await super().run(sockets)


_PLANTED: tuple[tuple[str, type[Any], dict[str, Any], str], ...] = (
    ("is-no-server", NotAServer, {}, "is no Server"),
    ("has-a-flag-for-no-option", ReferenceServer, {"flags": {"x": "x"}}, "flags set options of the plugin"),
    ("writes-flags-with-dashes", ReferenceServer, {"flags": {"--x": "greeting"}}, "flags are written without dashes"),
    ("names-whole-paths", ReferenceServer, {"paths": ("/live", "/ready")}, "paths are first parts"),
    (
        "keeps-its-paths-for-itself",
        ReferenceServer,
        {"paths": ("generate",)},
        "paths must name what the server answers",
    ),
    ("is-always-ready", AlwaysReady, {}, "/ready must be 503 while the engine is not ready"),
    ("lives-as-long-as-the-engine", DiesWithTheEngine, {}, "/live is about the process, not the engine"),
    ("asks-the-engine-in-a-probe", AsksTheEngine, {}, "probes must not wait for the engine"),
    ("cuts-what-runs", CutsAtOnce, {}, "stop() must let what runs finish"),
    ("never-cuts", NeverCuts, {}, "stop_now() must close every connection"),
    ("listens-while-it-stops", ListensOn, {}, "after stop(), new connections must be refused"),
    ("keeps-its-sockets", KeepsSockets, {}, "run() must close its sockets when it is stopped"),
    ("ends-sockets-for-others", ShutsTheSocket, {}, "must not stop others that accept from its socket"),
    ("takes-signals", TakesSignals, {}, "signals are not the server's"),
    ("forgets-an-early-stop", ForgetsAnEarlyStop, {}, "run() of a server that was stopped before"),
    ("goes-on-for-a-client-that-is-gone", GoesOn, {}, "a request whose client is gone must be ended in the engine"),
    ("gives-no-root-path", NoPrefix, {}, "an endpoint is given the whole path"),
    ("mistakes-what-looks-like-a-prefix", AnyPrefix, {}, "a path that only looks like a prefix"),
    ("mounts-no-endpoints", NoEndpoints, {}, "every path under a prefix is its endpoint's"),
    ("leaves-a-task", LeavesATask, {}, "run() must end its tasks before it returns"),
)

FAULTS = tuple(Fault(name=name, suite=suite_of(target, **fields), says=says) for name, target, fields, says in _PLANTED)
