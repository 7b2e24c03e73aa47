"""HEAD where there is GET."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kernelet_server_openai.middleware.auth import OPEN

MODELS = "/v1/models"


class Head:
    """Answers HEAD as GET, without the body, where probes and clients ask so.

    Args:
        app: What is behind.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or not has_head(scope["path"]):
            await self._app(scope, receive, send)
            return

        async def bare(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self._app({**scope, "method": "GET"}, receive, bare)


def has_head(path: str) -> bool:
    """Whether a path is one of these."""
    return path in OPEN or path == MODELS or path.startswith(f"{MODELS}/")
