"""Tells how large requests and answers were, once they have ended."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kernelet_server_openai.serving.large import LargeWork


class Memory:
    """Has memory given back after a large request.

    Args:
        app: What is behind.
        large: Told of each request.
    """

    def __init__(self, app: ASGIApp, large: LargeWork) -> None:
        self._app = app
        self._large = large

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        size = 0

        async def received() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            return message

        async def sent(message: Message) -> None:
            nonlocal size
            size += len(message.get("body", b""))
            await send(message)

        self._large.begin()
        try:
            await self._app(scope, received, sent)
        finally:
            self._large.done(size)
