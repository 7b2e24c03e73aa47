"""A request's body has a size that it may not pass."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kernelet_server_openai.middleware.errors import response_of
from kernelet_server_openai.protocol.errors import ApiError

LINGER_SECONDS = 10.0
"""How long the rest of a body is thrown away, so that its sender gets to read the answer."""


class BodySize:
    """Answers 413 to a body that is too large. No more of it than the limit is ever held.

    Args:
        app: What is behind.
        limit: Bytes.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        stated = headers.get(b"content-length", b"0")
        if stated.isdigit() and int(stated) > self._limit:
            # who waits for a go-ahead has sent nothing yet
            if b"expect" not in headers:
                await throw_away(receive)
            await response_of(self._too_large())(scope, receive, send)
            return
        await self._app(scope, self._counted(receive), send)

    def _too_large(self) -> ApiError:
        message = f"the body has more than {self._limit} bytes (--max-request-bytes): send less at once"
        return ApiError(413, message, code="request_too_large", headers={"connection": "close"})

    def _counted(self, receive: Receive) -> Receive:
        """``receive`` for bodies that do not state their size."""
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._limit:
                if message.get("more_body"):
                    await throw_away(receive)
                raise self._too_large()
            return message

        return counted


async def throw_away(receive: Receive) -> None:
    """Reads the rest of a body, for some seconds at most."""
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            while (await receive()).get("more_body"):
                pass
    except TimeoutError:
        pass
