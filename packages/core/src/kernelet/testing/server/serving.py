"""Runs a server as a frontend does, and asks it over HTTP."""

from __future__ import annotations

import asyncio
import http.client
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from kernelet.contracts.serving import Server
from kernelet.testing.verdict import check


@dataclass(frozen=True, kw_only=True)
class Call:
    """A request of HTTP."""

    method: str = "GET"
    path: str = "/"
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def bound() -> socket.socket:
    """A socket on a free port, as the parent binds it: it does not listen yet."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", 0))
    return made


class Opened:
    """An answer that has begun."""

    def __init__(self, port: int, call: Call, patience: float) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patience)
        self._connection.request(call.method, call.path, call.body or None, dict(call.headers))
        self._response = self._connection.getresponse()
        self.status = self._response.status

    def first(self) -> bytes:
        """Its first bytes."""
        return self._response.read(1)

    def rest(self) -> bytes | None:
        """What follows, to the end; None: it was cut."""
        try:
            return self._response.read()
        except (http.client.IncompleteRead, ConnectionError):
            return None

    def close(self) -> None:
        """Hangs up."""
        self._response.close()
        self._connection.close()


@dataclass
class Serving:
    """A server that runs.

    Attributes:
        socket: What it was given.
        port: Where it answers.
        running: Its ``run``.
        patience: Seconds until something that must happen counts as not happening.
    """

    server: Server
    socket: socket.socket
    port: int
    running: asyncio.Task[None]
    patience: float

    async def open(self, call: Call) -> Opened:
        """Sends a request, and waits for the head of its answer."""
        return await asyncio.to_thread(Opened, self.port, call, self.patience)

    async def ask(self, call: Call) -> tuple[int, bytes | None]:
        """Status and body; no status where there is no answer, no body where it was cut."""
        try:
            opened = await self.open(call)
        except (http.client.HTTPException, OSError):
            return 0, None
        body = await asyncio.to_thread(opened.rest)
        opened.close()
        return opened.status, body

    async def refuses(self) -> bool:
        """Whether clients that come now are refused, or come to another process."""
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return True
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return False

    async def ended(self, patience: float | None = None) -> bool:
        """Whether ``run`` returns in time."""
        await asyncio.wait({self.running}, timeout=self.patience if patience is None else patience)
        return self.running.done()


@asynccontextmanager
async def serving(
    make: Callable[[], Server], patience: float, bound_socket: socket.socket | None = None
) -> AsyncIterator[Serving]:
    """Makes a server and runs it until the block ends; ``run`` is cancelled then, if it has not returned."""
    own = bound() if bound_socket is None else bound_socket
    port: int = own.getsockname()[1]
    server = make()
    running = asyncio.ensure_future(server.run([own]))
    it = Serving(server, own, port, running, patience)
    try:
        await listening(it)
        yield it
        if running.done():
            await running
    finally:
        if not running.done():
            server.stop()
            server.stop_now()
            await it.ended()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        own.close()


async def listening(it: Serving) -> None:
    """Waits until a server takes connections.

    Raises:
        ConformanceError: it does not.
    """
    deadline = asyncio.get_running_loop().time() + it.patience
    while await it.refuses():
        if it.running.done():
            await it.running
        late = asyncio.get_running_loop().time() > deadline
        check(not late and not it.running.done(), "run() must serve on the sockets that it is given until stop()")
        await asyncio.sleep(0.01)
