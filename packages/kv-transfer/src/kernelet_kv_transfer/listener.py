"""A port whose connections have a thread each."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

logger = logging.getLogger(__name__)

MOST = 1024
"""Connections at a time; one more is closed at once, and its sender tries again or goes on without."""
PAUSE = 0.1
"""Seconds after which a machine that had no descriptor left is asked again."""


class Listener:
    """Listens until it is closed.

    Attributes:
        port: Where.
    """

    def __init__(self, host: str, port: int, serve: Callable[[socket.socket], None], name: str) -> None:
        """Begins.

        Args:
            host: An address of this machine.
            port: 0: a free one.
            serve: Has a connection in a thread of its own, and may leave it open: it is closed behind it.
            name: Of the threads.

        Raises:
            OSError: the port cannot be had.
        """
        self._serve = serve
        self._name = name
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._socket = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, name=name, daemon=True).start()

    def close(self) -> None:
        """Ends all connections."""
        with self._lock:
            self._closed = True
            open_ones = list(self._open)
        for connection in (self._socket, *open_ones):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError as error:
                if self._closed:
                    return
                logger.warning("%s: a connection cannot be taken: %s", self._name, error)
                time.sleep(PAUSE)
                continue
            if self._takes(connection):
                self._start(connection)
            else:
                connection.close()

    def _takes(self, connection: socket.socket) -> bool:
        with self._lock:
            if self._closed or len(self._open) >= MOST:
                return False
            self._open.add(connection)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # a peer whose machine is gone says nothing
        return True

    def _start(self, connection: socket.socket) -> None:
        thread = threading.Thread(target=self._run, args=(connection,), name=f"{self._name}-peer", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            logger.warning("%s: a connection cannot be taken: %s", self._name, error)
            self._forget(connection)

    def _run(self, connection: socket.socket) -> None:
        try:
            self._serve(connection)
        finally:
            self._forget(connection)

    def _forget(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)
        connection.close()
