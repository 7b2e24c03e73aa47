"""HTTP/1.1 as far as a reference needs it: one request a connection, handed to an ASGI application."""

from __future__ import annotations

import asyncio
import http
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import unquote

from kernelet.contracts.serving import ASGIApp

LARGEST_HEAD = 1 << 16
LARGEST_BODY = 1 << 20


class BadRequestError(Exception):
    """What came is no request that is served; ``status`` says why."""

    def __init__(self, status: int) -> None:
        super().__init__(http.HTTPStatus(status).phrase)
        self.status = status


async def read_request(reader: asyncio.StreamReader) -> tuple[dict[str, Any], bytes]:
    """Scope and body of the request on a connection.

    Raises:
        BadRequestError: it is none.
        IncompleteReadError: the client is gone.
    """
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head[:-4].split("\r\n")
        method, target, _ = first.split(" ")
        headers = [(name.lower().encode(), value.strip().encode("latin-1")) for name, _, value in split(lines)]
        length = int(dict(headers).get(b"content-length", b"0"))
    except (ValueError, asyncio.LimitOverrunError) as error:
        raise BadRequestError(400) from error
    if not 0 <= length <= LARGEST_BODY:
        raise BadRequestError(413)
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "root_path": "",
        "headers": headers,
    }
    return scope, await reader.readexactly(length)


def split(lines: list[str]) -> list[tuple[str, str, str]]:
    """Names and values of header lines."""
    return [line.partition(":") for line in lines]


class Exchange:
    """One request and its answer, as ASGI's ``receive`` and ``send``."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> None:
        self._reader = reader
        self._writer = writer
        self._body: bytes | None = body
        self._head: bytes | None = None
        self._chunked = False
        self.started = False
        self.complete = False

    async def receive(self) -> MutableMapping[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        while await self._reader.read(1):
            pass
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            self._head = head_of(message["status"], message.get("headers", ()))
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if self._head is not None:
            self._chunked = more and b"\r\ncontent-length:" not in self._head
            framing = b"transfer-encoding: chunked\r\n" if self._chunked else b""
            if not self._chunked and b"\r\ncontent-length:" not in self._head:
                framing = b"content-length: %d\r\n" % len(body)
            self._writer.write(self._head + framing + b"\r\n")
            self._head = None
        self._write(body, more)
        self.complete = not more
        await self._writer.drain()

    def _write(self, body: bytes, more: bool) -> None:
        if self._chunked:
            body = (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + (b"" if more else b"0\r\n\r\n")
        self._writer.write(body)


def head_of(status: int, headers: Any) -> bytes:
    """Status line and headers, without the empty line that ends them."""
    lines = [b"HTTP/1.1 %d %s" % (status, http.HTTPStatus(status).phrase.encode())]
    lines += [name.lower() + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"connection: close", b""])


async def answer(app: ASGIApp, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serves the one request of a connection, which is then closed, or cut where the answer is not complete."""
    complete = False
    try:
        try:
            scope, body = await read_request(reader)
        except BadRequestError as error:
            exchange = Exchange(reader, writer, b"")
            await plain(exchange, error.status, str(error))
        else:
            exchange = Exchange(reader, writer, body)
            await app(scope, exchange.receive, exchange.send)
            if not exchange.started:
                await plain(exchange, 500, "no answer")
        complete = exchange.complete
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # the client is gone
    finally:
        if complete:
            writer.close()
        else:
            writer.transport.abort()


async def plain(exchange: Exchange, status: int, text: str) -> None:
    """A short answer."""
    headers = [(b"content-type", b"text/plain")]
    await exchange.send({"type": "http.response.start", "status": status, "headers": headers})
    await exchange.send({"type": "http.response.body", "body": text.encode()})
