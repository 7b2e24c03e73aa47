"""Calls of an ASGI application without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

NOTHING = object()


@dataclass
class Reply:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    parts: list[bytes] = field(default_factory=list)
    scope: dict[str, Any] = field(default_factory=dict)

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        found = self.json()["error"]
        assert set(found) == {"message", "type", "param", "code"}
        return found

    @property
    def events(self) -> list[Any]:
        """Data of server-sent events; the last one must be [DONE]."""
        blocks = self.body.decode().split("\n\n")
        assert blocks.pop() == ""
        assert all(block.startswith("data: ") for block in blocks)
        assert blocks.pop() == "data: [DONE]"
        return [json.loads(block.removeprefix("data: ")) for block in blocks]


async def acall(app, method, path, content=NOTHING, *, body=b"", headers=None, query="", gone=None, reading=None):
    """One request.

    Args:
        content: Sent as JSON.
        body: Sent as it is; a list is sent in pieces, of which None never comes.
        gone: An event: the client goes away then.
        reading: An event: nothing is read before.
    """
    reply = Reply()
    pieces = [json.dumps(content).encode()] if content is not NOTHING else body if isinstance(body, list) else [body]
    left = list(pieces)
    reply.scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "state": {},
    }
    never = gone or asyncio.Event()

    async def receive():
        if left and left[0] is not None:
            return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}
        await never.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        if reading is not None:
            await reading.wait()
        if message["type"] == "http.response.start":
            reply.status = message["status"]
            reply.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            reply.parts.append(message.get("body", b""))
            reply.body += message.get("body", b"")

    await app(reply.scope, receive, send)
    return reply


def call(*arguments: Any, **keywords: Any) -> Reply:
    return asyncio.run(acall(*arguments, **keywords))


def post(app: Any, path: str, content: Any = NOTHING, **keywords: Any) -> Reply:
    return call(app, "POST", path, content, **keywords)


def get(app: Any, path: str, **keywords: Any) -> Reply:
    return call(app, "GET", path, **keywords)


async def until(condition: Callable[[], bool]) -> None:
    """Lets others run until something is so."""
    for _ in range(100_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to be")
