"""Answers that end when their client goes away."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Any

import httpx
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kernelet_router_prefix.errors import RouterError
from kernelet_router_prefix.upstream import OWN_HEADERS, described

logger = logging.getLogger(__name__)

Work = Callable[[Send], Coroutine[Any, Any, None]]

EVENTS = "text/event-stream"
EVENT_END = b"\n\n"


class Answer(Response):
    """Runs ``work``, and cancels it as soon as the client goes away.

    Args:
        work: Sends an answer. A ``RouterError`` before it sent anything is the answer.
    """

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        work = asyncio.ensure_future(self._answer(send))
        gone = asyncio.ensure_future(disconnected(receive))
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, gone):
                task.cancel()
            await asyncio.wait((work, gone))
        if not work.cancelled():
            work.result()

    async def _answer(self, send: Send) -> None:
        try:
            await self._work(send)
        except RouterError as error:
            await send_whole(send, error.status, error.body(), [("content-type", "application/json")])


async def disconnected(receive: Receive) -> None:
    """Returns once the client has gone away; the body has been read before."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def send_whole(send: Send, status: int, body: bytes, headers: Iterable[tuple[str, str]]) -> None:
    """An answer in one piece."""
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in passed(headers)]
    raw.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


async def relay(send: Send, response: httpx.Response) -> None:
    """An engine's answer, as it comes.

    Raises:
        httpx.TransportError: it broke off in a place where nothing can say so but the end of the connection.
    """
    headers = passed(response.headers.multi_items())
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    if (length := response.headers.get("content-length")) is not None:
        raw.append((b"content-length", length.encode()))
    streams = response.headers.get("content-type", "").startswith(EVENTS)
    await send({"type": "http.response.start", "status": response.status_code, "headers": raw})
    pieces = whole_events(response.aiter_raw()) if streams else response.aiter_raw()
    try:
        async for part in pieces:
            await send({"type": "http.response.body", "body": part, "more_body": True})
    except httpx.TransportError as error:
        if not streams:
            raise
        logger.warning("%s broke off: %s", response.request.url, described(error))
        await send({"type": "http.response.body", "body": last_words(error), "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def whole_events(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A stream cut behind events, so that what breaks off leaves none that is half told."""
    rest = b""
    async for part in parts:
        rest += part
        end = rest.rfind(EVENT_END)
        if end >= 0:
            end += len(EVENT_END)
            yield rest[:end]
            rest = rest[end:]
    if rest:
        yield rest


def passed(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Headers that are not those of one connection."""
    return [(name, value) for name, value in headers if name.lower() not in OWN_HEADERS]


def last_words(error: httpx.TransportError) -> bytes:
    """What ends a stream that broke off."""
    problem = RouterError(502, f"the engine broke off: {described(error)}", "engine_lost")
    return b"data: " + json.dumps(json.loads(problem.body())).encode() + b"\n\ndata: [DONE]\n\n"
