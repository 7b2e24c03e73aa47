"""ASGI messages of answers."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.types import Scope, Send

ENCODER = msgspec.json.Encoder(decimal_format="number")
STREAM_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
DONE = b"data: [DONE]\n\n"


async def send_json(send: Send, content: object, status: int = 200) -> None:
    """A whole answer. What JSON has no number for becomes null."""
    await send_body(send, ENCODER.encode(content), status)


async def send_body(send: Send, body: bytes, status: int = 200) -> None:
    """A whole answer that is JSON already."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def start_stream(send: Send) -> None:
    """The head of a stream of server-sent events."""
    await send({"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS})


async def send_part(send: Send, body: bytes, *, last: bool = False) -> None:
    """Some events, or the last ones."""
    await send({"type": "http.response.body", "body": body, "more_body": not last})


def event(content: object) -> bytes:
    """One event."""
    return b"data: " + ENCODER.encode(content) + b"\n\n"


def note(scope: Scope, **values: Any) -> None:
    """Adds to the request's line in the access log."""
    log = scope.get("state", {}).get("log")
    if log is not None:
        log.update(values)
