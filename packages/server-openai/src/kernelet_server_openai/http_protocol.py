"""uvicorn's HTTP connection, with limits of a request's head in bytes and time, and a way to cut it."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from kernelet_server_openai.serving.disconnect import ABORT

LARGEST_HEAD: Final = 64 * 1024
"""Bytes of request line and headers: nothing else bounds them."""

HEAD_SECONDS: Final = 60.0
"""How long a client may take for them, from the connection or the first byte on."""

REFUSED: Final = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"
MESSAGE: Final = (
    b'{"error":{"message":"the request has more than 65536 bytes of headers","type":"invalid_request_error",'
    b'"param":null,"code":"headers_too_large"}}'
)
LATE: Final = (
    b'{"error":{"message":"the headers did not come in time","type":"invalid_request_error",'
    b'"param":null,"code":"headers_too_late"}}'
)


class HttpProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._in_head = False
        self._head_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        self.scope["extensions"] = {ABORT: {"call": self.transport.abort}}

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_clock()
        before = self.cycle
        super().on_headers_complete()
        if self.cycle is not before and self.parser.get_http_version() == "1.0":
            self.cycle.__class__ = UntilClosed

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing() or self not in self.connections:
            return
        if self._in_head or self._is_idle:
            self._start_clock()  # whatever came was no whole head
        if not self._in_head:
            return
        self._head_bytes += len(data)
        if self._head_bytes > LARGEST_HEAD:
            self._refuse(b"431 Request Header Fields Too Large", MESSAGE)

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
            self._refuse(b"408 Request Timeout", LATE)
        else:
            self.transport.close()

    def _refuse(self, status: bytes, body: bytes) -> None:
        self.transport.write(REFUSED % (status, len(body), body))
        self.transport.close()


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
