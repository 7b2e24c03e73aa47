"""Calls an ASGI application as a server does, and holds it to the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from kernelet.contracts.serving import ASGIApp
from kernelet.testing.verdict import ConformanceError, check


@dataclass(frozen=True, kw_only=True)
class Call:
    """A request of HTTP.

    Attributes:
        path: Of an endpoint: below its prefix.
    """

    method: str = "GET"
    path: str = ""
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Answer:
    """What came back, as far as it came."""

    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""
    complete: bool = False


def scope_of(call: Call, root_path: str) -> dict[str, Any]:
    """The scope of a request to an application under ``root_path``."""
    path = root_path + call.path
    headers = {"host": "localhost", "content-length": str(len(call.body))} | dict(call.headers)
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": call.method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": root_path,
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 40000),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }


class Exchange:
    """One request.

    Attributes:
        answer: What has come so far.
        begun: Is set once a body came.
    """

    def __init__(self, body: bytes) -> None:
        self.answer = Answer()
        self.begun = asyncio.Event()
        self._body: bytes | None = body
        self._gone = asyncio.Event()

    def hang_up(self) -> None:
        """The client is gone."""
        self._gone.set()

    async def receive(self) -> MutableMapping[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if self._gone.is_set():
            raise OSError("the client is gone")  # what servers of ASGI 2.4 do
        check(not self.answer.complete, "an answer ends with the first body without more_body: nothing may follow")
        if message["type"] == "http.response.start":
            self._start(message)
        elif message["type"] == "http.response.body":
            self._add(message)
        await asyncio.sleep(0)

    def _start(self, message: Mapping[str, Any]) -> None:
        check(not self.answer.status, "an answer has one http.response.start")
        headers = [tuple(pair) for pair in message.get("headers", ())]
        well = all(isinstance(part, bytes) for pair in headers for part in pair)
        check(
            well and all(name == name.lower() for name, _ in headers), "headers are pairs of bytes, names in lower case"
        )
        self.answer.status, self.answer.headers = message["status"], dict(headers)

    def _add(self, message: Mapping[str, Any]) -> None:
        check(self.answer.status, "an answer begins with http.response.start")
        body = message.get("body", b"")
        check(isinstance(body, bytes), "a body is bytes")
        self.answer.body += body
        self.answer.complete = not message.get("more_body", False)
        self.begun.set()


async def call(app: ASGIApp, request: Call, root_path: str) -> Answer:
    """The whole answer to a request.

    Raises:
        ConformanceError: the application raised, or does not keep to the protocol.
    """
    exchange = Exchange(request.body)
    try:
        await app(scope_of(request, root_path), exchange.receive, exchange.send)
    except ConformanceError:
        raise
    except Exception as error:
        raise ConformanceError(
            f"an application answers, it does not raise: at {request.method} {request.path or '/'} it raised {error!r}"
        ) from error
    check(exchange.answer.complete, f"an answer must be complete: {request.method} {request.path or '/'} was not")
    return exchange.answer
