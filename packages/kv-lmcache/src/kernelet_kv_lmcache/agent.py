"""Speaks with an LMCache server for one rank, in a process of its own: what importing LMCache does, it does there.

``boot.py agent SOCKET MEMORY``, two inherited descriptors. Chunks lie in slots of the shared memory, messages go
through the socket. Each call to the server has a deadline; one that fails is a miss, and the server is tried again.
"""

from __future__ import annotations

import mmap
import os
import queue
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from kernelet_kv_lmcache.client import SEAL, Client, import_lmcache, seal
from kernelet_kv_lmcache.wire import (
    BEAT,
    Answer,
    Beat,
    Free,
    Get,
    Lookup,
    Message,
    Put,
    Reply,
    Setup,
    State,
    num_slots,
    receive,
    send,
)

PAUSE = 1.0
"""Seconds between two looks at the server."""


class Agent:
    """Does what messages say: loads, saves and lookups each in their order, and beside each other."""

    def __init__(self, sock: socket.socket, memory: int, connect: Callable[[Setup], Any] = Client) -> None:
        self._sock, self._memory, self._connect = sock, memory, connect
        self._setup: Setup | None = None
        self._server: Any = None
        self._lost: list[Any] = []
        self._map: mmap.mmap | None = None
        self._tried, self._wake, self._over = threading.Event(), threading.Event(), threading.Event()
        self._ended = threading.Event()
        self._sending = threading.Lock()
        self._queues: dict[type, queue.SimpleQueue[Any]] = {kind: queue.SimpleQueue() for kind in (Lookup, Get, Put)}

    def run(self) -> None:
        """Until the engine ends, in any way."""
        threads = [threading.Thread(target=self._work, args=(waiting,)) for waiting in self._queues.values()]
        keeper = threading.Thread(target=self._keep)
        for data in receive(self._sock):
            message = msgspec.msgpack.decode(data, type=Message)
            if isinstance(message, Setup):
                self._setup = message
                for thread in (threading.Thread(target=self._beat), keeper, *threads):
                    thread.start()
            else:
                self._queues[Lookup if isinstance(message, Free) else type(message)].put(message)
        for waiting in self._queues.values():
            waiting.put(None)
        if self._setup is not None:
            for thread in threads:
                thread.join()
            self._over.set()
            self._wake.set()
            keeper.join()
            self._ended.set()
        self._sock.close()

    def _say(self, reply: Reply) -> None:
        try:
            with self._sending:
                send(self._sock, reply)
        except OSError:  # the engine has ended: the loop that receives sees it too
            self._over.set()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT):
            self._say(Beat())

    # --- the server comes and goes ---------------------------------------------------------------

    def _keep(self) -> None:
        setup, chunk, said = self._setup, 0, ""
        assert setup is not None
        while not self._over.is_set():
            try:
                while self._lost:
                    self._lost.pop().close(politely=False)
                if self._server is None:
                    setup = msgspec.structs.replace(setup, chunk=chunk or setup.chunk)
                    server = self._connect(setup)
                    chunk = server.chunk
                    self._open_memory(setup, chunk)
                    self._server, said = server, ""
                    self._say(State(alive=True, chunk=chunk))
                else:
                    self._server.ping()
            except Exception as error:  # noqa: BLE001 - a server that does not answer is tried again
                reason = f"{type(error).__name__}: {error}"
                if self._server is not None:
                    self._doubt(self._server, reason)
                elif not said:
                    said = reason
                    self._say(State(alive=False, reason=said))
            self._tried.set()
            self._wake.wait(PAUSE)
            self._wake.clear()
        if self._server is not None:
            self._server.close()

    def _open_memory(self, setup: Setup, chunk: int) -> None:
        if self._map is None:
            size = num_slots(setup, chunk) * chunk * setup.token_bytes
            os.ftruncate(self._memory, size)
            self._map = mmap.mmap(self._memory, size)
            self._slot = chunk * setup.token_bytes

    # --- what messages say -----------------------------------------------------------------------

    def _work(self, waiting: queue.SimpleQueue[Any]) -> None:
        self._tried.wait()
        while (message := waiting.get()) is not None:
            count, spoiled = 0, b""
            server = self._server
            if server is not None:
                try:
                    count, spoiled = self._do(server, message)
                except Exception as error:  # noqa: BLE001 - a call that fails is a miss
                    self._doubt(server, f"{type(message).__name__} failed: {error!r}")
            if not isinstance(message, Free):
                self._say(Answer(message.number, count, spoiled))

    def _doubt(self, server: Any, reason: str) -> None:
        """After a call that failed the server is met anew: one that was restarted does not know this rank."""
        if self._server is server:
            self._server = None
            self._say(State(alive=False, reason=reason))
            self._lost.append(server)
            self._wake.set()

    def _do(self, server: Any, message: Any) -> tuple[int, bytes]:
        if isinstance(message, Lookup):
            return server.lookup(message.session, message.keys), b""
        if isinstance(message, Free):
            server.free(message.session, message.keys[: message.last], message.first, whole=message.whole)
            if message.ends:
                server.end(message.session)
            return 0, b""
        if isinstance(message, Put):
            stored = server.put(message.session, message.keys, message.first, lambda i, to: self._fill(message, i, to))
            server.end(message.session)
            return len(message.slots) * stored, b""
        bad: list[bytes] = []
        count = server.get(message.session, message.keys, message.first, lambda i, of: self._take(message, i, of, bad))
        return count, b"".join(bad)

    def _payload(self, slot: int) -> memoryview:
        assert self._map is not None
        return memoryview(self._map)[slot * self._slot : (slot + 1) * self._slot]

    def _fill(self, message: Put, index: int, target: Any) -> None:
        payload = self._payload(message.slots[index])
        target[:-SEAL] = payload
        target[-SEAL:] = memoryview(seal(payload, message.keys[message.first + index]))

    def _take(self, message: Get, index: int, data: Any, bad: list[bytes]) -> bool:
        key = message.keys[message.first + index]
        if len(data) != self._slot + SEAL or seal(data[:-SEAL], key) != bytes(data[-SEAL:]):
            bad.append(key)
            return False
        self._payload(message.slots[index])[:] = memoryview(data[:-SEAL])
        return True


def main(arguments: list[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the engine ends it
    import_lmcache()  # takes seconds: while the engine loads its model
    Agent(socket.socket(fileno=int(arguments[0])), int(arguments[1])).run()
    sys.stderr.flush()
    os._exit(0)  # LMCache's threads wait for nobody
