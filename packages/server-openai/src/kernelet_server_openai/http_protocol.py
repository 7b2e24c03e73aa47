"""uvicorn's HTTP connection, with a limit of a request's head, and a way to cut it."""

from __future__ import annotations

from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kernelet_server_openai.serving.disconnect import ABORT

LARGEST_HEAD: Final = 64 * 1024
"""Bytes of request line and headers: nothing else bounds them."""

TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%s"
)
MESSAGE: Final = (
    b'{"error":{"message":"the request has more than 65536 bytes of headers","type":"invalid_request_error",'
    b'"param":null,"code":"headers_too_large"}}'
)


class HttpProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._in_head = False
        self._head_bytes = 0

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        self.scope["extensions"] = {ABORT: {"call": self.transport.abort}}

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        self._head_bytes += len(data)
        if self._head_bytes > LARGEST_HEAD:
            self.transport.write(TOO_LARGE % (len(MESSAGE), MESSAGE))
            self.transport.close()
