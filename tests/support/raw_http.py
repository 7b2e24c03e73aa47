"""HTTP/1.1 by hand: clients that leave, stall or lie in the middle of it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Self


@dataclass
class RawAnswer:
    """What came, as far as it came."""

    status: int | None = None
    received: bytes = b""
    parts: int = 0
    ended: bool = False
    started: asyncio.Event = field(default_factory=asyncio.Event)


class RawClient:
    """One request on one connection."""

    def __init__(self, port: int, path: str, body: object, **headers: str) -> None:
        self.port = port
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = {"Host": "127.0.0.1", "Content-Type": "application/json", "Content-Length": str(len(data)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.sent = f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + data
        self.answer = RawAnswer()

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._writer.write(self.sent)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    def vanish(self) -> None:
        """Cuts the connection without a farewell."""
        self._writer.transport.abort()

    async def read(self, *, parts: int | None = None) -> RawAnswer:
        """Until the answer ends, or so many ``data:`` events came."""
        answer = self.answer
        while parts is None or answer.parts < parts:
            received = await self._reader.read(1 << 14)
            if not received:
                answer.ended = True
                break
            answer.received += received
            if answer.status is None and answer.received.count(b"\r\n"):
                answer.status = int(answer.received.split(None, 2)[1])
            answer.parts = answer.received.count(b"data: ")
            if b"data: [DONE]" in answer.received or self._complete():
                answer.ended = True
                break
        return answer

    def _complete(self) -> bool:
        head, found, body = self.answer.received.partition(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        return bool(found and lengths) and len(body) >= int(lengths[0].split(b":")[1])
