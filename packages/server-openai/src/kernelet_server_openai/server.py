"""The server of one frontend."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Sequence
from functools import partial
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

from kernelet.contracts.offer import Settings
from kernelet.contracts.serving import Server, ServerContext
from kernelet_server_openai.app import build_app
from kernelet_server_openai.http_protocol import HttpProtocol
from kernelet_server_openai.middleware.access_log import LogWriter
from kernelet_server_openai.settings import ServerSettings, Tls

KEEP_ALIVE_SECONDS = 75
"""How long an idle connection stays open: longer than clients and proxies keep theirs."""
BACKLOG = 2048
LAST_WORDS_SECONDS = 1.0
"""What requests that are cut get to tell their clients."""
TICK = 0.05
"""Seconds between two looks at connections that must go."""


class OpenAIServer(Server):
    """OpenAI's API on uvicorn."""

    def __init__(self, settings: Settings, context: ServerContext) -> None:
        super().__init__(settings, context)
        self._settings = ServerSettings.read(settings)
        self._log = LogWriter(self._settings.access_log)
        self._app = build_app(context, self._settings, self._log)
        self._config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            http=partial(HttpProtocol, log=self._log),  # type: ignore[arg-type]
            ws="auto",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            backlog=BACKLOG,
            **tls_options(self._settings.tls),
        )
        self._server = uvicorn.Server(self._config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._now = False
        self._forced = asyncio.Event()

    @classmethod
    def check_settings(cls, settings: Settings) -> None:
        ServerSettings.read(settings)

    async def run(self, sockets: Sequence[socket.socket]) -> None:
        """Serves until ``stop``."""
        self._loop = asyncio.get_running_loop()
        if self._now:
            self._forced.set()
        closing = asyncio.ensure_future(self._close_when_forced())
        try:
            await self._server._serve(list(sockets))  # noqa: SLF001  ``serve`` would take the signals
        finally:
            closing.cancel()
            for one in sockets:
                one.close()
            await self._close_connections()
            self._app.state.api.large.close()
            self._log.close()

    def stop(self) -> None:
        self._server.should_exit = True

    def stop_now(self) -> None:
        self._server.should_exit = self._now = True
        with contextlib.suppress(RuntimeError):  # the loop has ended
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._forced.set)

    async def _close_when_forced(self) -> None:
        """Uvicorn itself waits for connections, also when it is forced."""
        await self._forced.wait()
        if tasks := list(self._server.server_state.tasks):
            await asyncio.wait(tasks, timeout=LAST_WORDS_SECONDS)
        self._server.force_exit = True
        while True:
            await self._close_connections()
            await asyncio.sleep(TICK)

    async def _close_connections(self) -> None:
        """Closes all connections; their requests end, by force where they do not notice."""
        state = self._server.server_state
        for connection in list(state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        if tasks := list(state.tasks):
            _, left = await asyncio.wait(tasks, timeout=LAST_WORDS_SECONDS)
            for task in left:
                task.cancel()
            await asyncio.wait(tasks)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The application; one that is cancelled at the end is no error, which uvicorn would log."""
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            if not self._forced.is_set():
                raise


def tls_options(tls: Tls | None) -> dict[str, Any]:
    """Uvicorn's names."""
    if tls is None:
        return {}
    return {
        "ssl_certfile": tls.certfile,
        "ssl_keyfile": tls.keyfile or None,
        "ssl_keyfile_password": tls.password or None,
        "ssl_ca_certs": tls.ca_certs or None,
        "ssl_cert_reqs": ssl.CERT_REQUIRED if tls.ca_certs else ssl.CERT_NONE,
    }
