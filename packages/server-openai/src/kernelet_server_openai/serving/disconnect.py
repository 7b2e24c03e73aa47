"""Answers that end when their client goes away, in every phase, streaming or not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

logger = logging.getLogger(__name__)

Work = Callable[[Send], Coroutine[Any, Any, None]]
"""Sends an answer, from its start to its end."""

ABORT = "kernelet.abort"
"""Extension of the scope: ``call`` cuts the connection."""

WATCH_SECONDS = 15.0
"""How often a client that does not read is looked at."""


class Watched:
    """Knows how long a message has been waiting for its client to read, and whether the last one was sent.

    Args:
        send: What sends messages.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._since: float | None = None
        self.complete = False

    async def send(self, message: Message) -> None:
        """Sends a message; returns at once as long as the client reads."""
        self._since = self._loop.time()
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self.complete = True
        await self._send(message)
        self._since = None

    @property
    def seconds_unread(self) -> float:
        """How long the message that is being sent has waited."""
        return 0.0 if self._since is None else self._loop.time() - self._since


class Answer(Response):
    """Runs ``work``, and cancels it as soon as the client goes away or stops reading.

    Args:
        work: What makes and sends the answer. Leaving it aborts what it asked of the engine.
        client_timeout: Seconds that a message may wait to be read; 0: for ever.
    """

    def __init__(self, work: Work, client_timeout: float = 0.0) -> None:
        self._work = work
        self._client_timeout = client_timeout
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        watched = Watched(send)
        work = asyncio.ensure_future(self._work(watched.send))
        gone = asyncio.ensure_future(until_gone(receive))
        try:
            if await self._race(work, gone, watched, partial(cut, scope)):
                await work
            else:
                scope.get("state", {}).get("log", {})["disconnected"] = True
        finally:
            await stop(work)
            await stop(gone)

    async def _race(
        self, work: asyncio.Future[None], gone: asyncio.Future[None], watched: Watched, cut: Callable[[], None]
    ) -> bool:
        """Whether the work came to its end."""
        while True:
            done, _ = await asyncio.wait((work, gone), timeout=WATCH_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if work in done:
                return True
            if done:
                return watched.complete
            if self._client_timeout and watched.seconds_unread > self._client_timeout:
                logger.warning("a client left its answer unread for %.0f s; its request ends", watched.seconds_unread)
                cut()
                return False


def cut(scope: Scope) -> None:
    """Cuts the connection: what waits to be read would keep it open."""
    abort = scope.get("extensions", {}).get(ABORT)
    if abort is not None:
        abort["call"]()


async def until_gone(receive: Receive) -> None:
    """Returns when the client has gone. The body must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def stop(task: asyncio.Future[None]) -> None:
    """Cancels a task and waits for it, also where the waiting one is cancelled itself."""
    if task.done():
        return
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("a request failed after its client had gone", exc_info=error)
