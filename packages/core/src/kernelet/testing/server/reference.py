"""A small server that keeps the whole contract: the truth of the suite, and what tests of ``kernelet serve`` serve."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from socket import socket
from typing import Any

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option, Settings
from kernelet.contracts.sampling import SamplingParams
from kernelet.contracts.serving import MountedEndpoint, Receive, Scope, Send, Server, ServerContext, ServerOffer
from kernelet.errors import ConfigError, EngineDeadError, RequestError
from kernelet.hookspecs import hookimpl
from kernelet.testing.server.http import LARGEST_HEAD, answer

logger = logging.getLogger(__name__)

PATHS = ("live", "ready", "generate", "frontend")

TEXT = [(b"content-type", b"text/plain; charset=utf-8")]


class ReferenceServer(Server):
    """``GET /live``, ``GET /ready``, ``GET /frontend``, ``POST /generate`` with prompt and max_tokens."""

    def __init__(self, settings: Settings, context: ServerContext) -> None:
        super().__init__(settings, context)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()
        self._stopping = False
        self._cutting = False
        self._idle: set[asyncio.Task[None]] = set()
        self._busy: set[asyncio.Task[None]] = set()

    @classmethod
    def check_settings(cls, settings: Settings) -> None:
        if settings.values.get("greeting") == "":
            raise ConfigError("greeting: got an empty text, expected a word")

    async def run(self, sockets: Sequence[socket]) -> None:
        self._loop = asyncio.get_running_loop()
        servers = [
            await asyncio.start_server(self._connected, sock=one, limit=LARGEST_HEAD, backlog=2048) for one in sockets
        ]
        if self._stopping:
            self._stopped.set()
        await self._stopped.wait()
        for server in servers:
            server.close()
        await asyncio.sleep(0.02)  # asyncio takes a few turns until a connection that it accepted has a task
        self._cut(self._idle)
        while self._busy or self._idle:
            if self._cutting:
                self._cut(self._busy | self._idle)
            await asyncio.wait(self._busy | self._idle)

    def stop(self) -> None:
        self._stopping = True
        self._call(self._stopped.set)

    def stop_now(self) -> None:
        self._stopping = self._cutting = True
        self._call(self._stopped.set)
        self._call(lambda: self._cut(self._busy | self._idle))

    def _call(self, function: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: all has ended
                self._loop.call_soon_threadsafe(function)

    @staticmethod
    def _cut(tasks: set[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._idle.add(task)

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            self._idle.discard(task)
            self._busy.add(task)
            await self._route(scope, receive, send)

        try:
            await answer(app, reader, writer)
        except asyncio.CancelledError:
            pass  # it was cut; asyncio would log it
        except Exception:
            logger.exception("a request failed")
        finally:
            self._idle.discard(task)
            self._busy.discard(task)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        for mounted in self.context.endpoints:
            if inside(path, mounted):
                await mounted.app({**scope, "root_path": scope["root_path"] + mounted.prefix}, receive, send)
                return
        route = {"/live": self._live, "/ready": self._ready, "/frontend": self._frontend}.get(path)
        if path == "/generate":
            await self._generate(receive, send)
        elif route is None:
            await reply(send, 404, "no such path")
        else:
            await reply(send, *route())

    def _live(self) -> tuple[int, str]:
        return 200, "live"

    def _ready(self) -> tuple[int, str]:
        health = self.context.engine.health()
        return (200 if health.ready else 503), health.state

    def _frontend(self) -> tuple[int, str]:
        return 200, f"{self.context.frontend_index} of {self.context.num_frontends}"

    async def _generate(self, receive: Receive, send: Send) -> None:
        try:
            asked = json.loads((await receive())["body"])
            params = SamplingParams(temperature=0.0, max_tokens=asked.get("max_tokens"), ignore_eos=True)
            outputs = self.context.engine.generate(asked["prompt"], params)
            gone = asyncio.ensure_future(receive())
            try:
                await self._stream(outputs, gone, send)
            finally:
                gone.cancel()
                await outputs.aclose()
        except (ValueError, KeyError, TypeError, RequestError) as error:
            await reply(send, 400, str(error))
        except EngineDeadError as error:
            await reply(send, 503, str(error))

    async def _stream(self, outputs: Any, gone: asyncio.Future[MutableMapping[str, Any]], send: Send) -> None:
        """Text as it grows; ends early, and with it the request, when the client is gone."""
        shown, output = "", await anext(outputs)
        await send({"type": "http.response.start", "status": 200, "headers": TEXT})
        while True:
            text = output.outputs[0].text
            body, shown = text[len(shown) :].encode(), text
            await send({"type": "http.response.body", "body": body, "more_body": not output.finished})
            if output.finished:
                return
            following = asyncio.ensure_future(anext(outputs))
            try:
                await asyncio.wait({following, gone}, return_when=asyncio.FIRST_COMPLETED)
                if gone.done():
                    return
                output = await following
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)


def inside(path: str, mounted: MountedEndpoint) -> bool:
    """Whether a path is an endpoint's: its prefix, or below."""
    return path == mounted.prefix or path.startswith(f"{mounted.prefix}/")


async def reply(send: Send, status: int, text: str) -> None:
    """A short answer."""
    await send({"type": "http.response.start", "status": status, "headers": TEXT})
    await send({"type": "http.response.body", "body": text.encode()})


class ReferencePlugin:
    """Offers the server ``reference``."""

    name = "server-reference"

    @hookimpl
    def kernelet_options(self) -> PluginOptions:
        return PluginOptions(schema={"greeting": Option(type=str, default="hello", help="A word that it is told.")})

    @hookimpl
    def kernelet_servers(self) -> tuple[ServerOffer, ...]:
        return (
            ServerOffer(
                name="reference",
                target="kernelet.testing.server.reference:ReferenceServer",
                flags={"greeting": "greeting"},
                paths=PATHS,
                summary="HTTP as far as tests need it.",
            ),
        )


plugin = ReferencePlugin()
"""For ``plugins=["kernelet.testing.server.reference:plugin"]``."""
