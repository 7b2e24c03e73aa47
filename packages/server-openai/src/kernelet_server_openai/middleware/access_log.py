"""A line of JSON for each request."""

from __future__ import annotations

import logging
import queue
import re
import sys
import threading
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kernelet.errors import ConfigError

logger = logging.getLogger(__name__)

PROBES = frozenset({"/live", "/ready", "/health", "/metrics"})
"""Paths that are logged only where they fail."""
GONE = 499
"""Status of a request whose client went away before the answer began, as nginx has it."""
MAX_LINES = 10_000
"""Lines that wait to be written; more are dropped, so that a stuck log stops nobody."""
ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class LogWriter:
    """Writes lines on a thread of its own: whoever reads the log may be slow.

    Args:
        where: "stdout", "off", or a file.

    Raises:
        ConfigError: the file cannot be opened.
    """

    def __init__(self, where: str) -> None:
        self._lines: queue.Queue[bytes | None] = queue.Queue(MAX_LINES)
        self._dropped = 0
        self._thread: threading.Thread | None = None
        if where != "off":
            self._thread = threading.Thread(target=self._run, args=(opened(where),), name="access-log", daemon=True)
            self._thread.start()

    def write(self, entry: dict[str, Any]) -> None:
        """Hands over a line; never waits."""
        if self._thread is None:
            return
        if self._dropped:
            entry["dropped"] = self._dropped
        try:
            self._lines.put_nowait(msgspec.json.encode(entry))
        except queue.Full:
            self._dropped += 1
        else:
            self._dropped = 0

    def close(self) -> None:
        """Writes what is left, for some seconds at most."""
        if self._thread is None:
            return
        try:
            self._lines.put(None, timeout=1.0)
        except queue.Full:
            return
        self._thread.join(2.0)
        self._thread = None

    def _run(self, stream: TextIO) -> None:
        try:
            while (line := self._lines.get()) is not None:
                stream.write(line.decode() + "\n")
                stream.flush()
        except (OSError, ValueError) as error:
            logger.error("the access log ends: %s", error)  # noqa: TRY400  the traceback says nothing more
        finally:
            if stream is not sys.stdout:
                stream.close()


def opened(where: str) -> TextIO:
    """Where lines go.

    Raises:
        ConfigError: the file cannot be opened.
    """
    if where == "stdout" and sys.stdout is None:
        raise ConfigError('--access-log: the standard output is closed: say "off", or name a file')
    try:
        return sys.stdout if where == "stdout" else Path(where).open("a", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--access-log: {where} cannot be written: {error}") from error


class AccessLog:
    """Gives each request an id, which its answer has too, and writes its line when it has ended.

    Handlers add to ``scope["state"]["log"]``.

    Args:
        app: What is behind.
        writer: Takes the lines.
    """

    def __init__(self, app: ASGIApp, writer: LogWriter) -> None:
        self._app = app
        self._writer = writer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = request_id_of(scope)
        status, begun = 0, time.perf_counter()
        notes: dict[str, Any] = {}
        scope.setdefault("state", {})["log"] = notes

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            if scope["path"] not in PROBES or status >= 400:
                self._writer.write(line(scope, request_id, status or GONE, time.perf_counter() - begun, notes))


def request_id_of(scope: Scope) -> str:
    """The id that the client or a proxy gave, else one of ours."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and ID.fullmatch(text := bytes(value).decode("latin-1")):
            return text
    return uuid.uuid4().hex


def line(scope: Scope, request_id: str, status: int, seconds: float, notes: dict[str, Any]) -> dict[str, Any]:
    """A request's entry."""
    client = scope.get("client")
    made = entry(
        request_id,
        status,
        seconds,
        client=client[0] if client else None,
        key=scope.get("state", {}).get("key"),
        method=scope["method"],
        path=scope["path"],
    )
    return made | notes


def entry(
    request_id: str,
    status: int,
    seconds: float,
    *,
    client: str | None = None,
    key: str | None = None,
    method: str | None = None,
    path: str | None = None,
) -> dict[str, Any]:
    """What every line has; None: it is not known."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "request_id": request_id,
        "client": client,
        "key": key,
        "method": method,
        "path": path,
        "status": status,
        "ms": round(seconds * 1000, 1),
    }
