"""uvicorn's HTTP connection: limits of a request's head in bytes and time, errors in our shape, and a way to cut it."""

from __future__ import annotations

import asyncio
import time
import uuid
from http import HTTPStatus
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from kernelet_server_openai.middleware.access_log import LogWriter, entry
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.serving.disconnect import ABORT

LARGEST_HEAD: Final = 64 * 1024
"""Bytes of request line and headers: nothing else bounds them."""

HEAD_SECONDS: Final = 60.0
"""How long a client may take for them, from the connection or the first byte on."""

REFUSED: Final = (
    b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nx-request-id: %s\r\n"
    b"connection: close\r\n\r\n%s"
)


class HttpProtocol(HttpToolsProtocol):
    """One connection.

    Args:
        arguments: As uvicorn gives them.
        log: Told of requests that come to no application.
        keywords: As uvicorn gives them.
    """

    def __init__(self, *arguments: Any, log: LogWriter, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._log = log
        self._in_head = self._in_body = False
        self._head_bytes = self._raw_bytes = self._new_bytes = 0
        self._begun = time.perf_counter()
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes, self._raw_bytes = True, 0, 0
        self._begun = time.perf_counter()
        self.scope["extensions"] = {ABORT: {"call": self.transport.abort}}

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + len(b":\r\n"))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        before = self.cycle
        super().on_headers_complete()
        self._in_head, self._in_body = False, True
        self._stop_clock()
        if self.cycle is not before and self.parser.get_http_version() == "1.0":
            self.cycle.__class__ = UntilClosed

    def on_message_complete(self) -> None:
        self._in_body, self._new_bytes = False, 0
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """As uvicorn's, but for what is told of errors; an upgrade that is none is a request as any other."""
        self._unset_keepalive_if_required()
        self._new_bytes = len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._refuse(too_large() if self._head_bytes > LARGEST_HEAD else invalid(error))
        except httptools.HttpParserUpgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
        if self.transport.is_closing() or self not in self.connections:
            return
        if self._in_head or self._is_idle:
            self._start_clock()  # whatever came was no whole head
        if not self._in_head:
            return
        self._raw_bytes += self._new_bytes  # of a header without end, the parser tells nothing
        if self._raw_bytes > LARGEST_HEAD:
            self._refuse(too_large())

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > LARGEST_HEAD:
            raise ValueError  # stops the parser, which raises an error of its own

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete  # type: ignore[redundant-expr]

    def _start_clock(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._late)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        self._deadline = None
        if self.transport.is_closing():
            return
        if not self._is_idle:
            self._start_clock()  # a request before this one is still being answered
        elif self._in_head:
            self._refuse(ApiError(408, "the headers did not come in time", code="headers_too_late"))
        else:
            self.transport.close()

    def _refuse(self, error: ApiError) -> None:
        """Closes the connection, with an answer where it would not come amid another one."""
        name = uuid.uuid4().hex
        is_first = not self.pipeline and not self.cycle.response_started if self._in_body else self._is_idle
        if is_first:
            body, words = error.body(), HTTPStatus(error.status).phrase.encode()
            self.transport.write(REFUSED % (error.status, words, len(body), name.encode(), body))
        if not self._in_body:  # else the application notices, and its line is written
            client = self.client[0] if self.client else None
            seconds = time.perf_counter() - self._begun
            self._log.write(entry(name, error.status, seconds, client=client) | {"error": error.message})
        self.transport.close()


def too_large() -> ApiError:
    """431."""
    message = f"the request has more than {LARGEST_HEAD} bytes of headers"
    return ApiError(431, message, code="headers_too_large")


def invalid(error: httptools.HttpParserError) -> ApiError:
    """400 for what is no HTTP; the parser's words have nothing of the request."""
    is_inner = isinstance(error, httptools.HttpParserCallbackError)  # the target is read in one of uvicorn's callbacks
    reason = "its target is none that is served" if is_inner else str(error)
    return ApiError(400, f"the request is not valid HTTP: {reason}", code="invalid_http")


class UntilClosed(RequestResponseCycle):
    """Answers in HTTP/1.0, which knows no chunks: a body of unknown length ends with the connection."""

    async def send(self, message: Any) -> None:
        """As ASGI has it."""
        if message["type"] == "http.response.start":
            names = {bytes(name).lower() for name, _ in message.get("headers", ())}
            self._uncounted = b"content-length" not in names
            if self._uncounted:
                self.chunked_encoding = False
        elif self._uncounted:
            self.expected_content_length = len(message.get("body", b""))
        await super().send(message)
