"""A transport that needs no library: what a rank registered is sent over TCP."""

from __future__ import annotations

import ctypes
import logging
import socket
import struct
import threading
from collections.abc import Callable

import msgspec

from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.listener import Listener
from kernelet_kv_transfer.messages import Address, receive_bytes
from kernelet_kv_transfer.transport import Transport

logger = logging.getLogger(__name__)

_QUESTION = struct.Struct("<QQ")
_GOOD = b"\x01"
_BAD = b"\x00"
SLICE = 0.05
"""Seconds between two looks at whether a read is to be given up."""


class TcpTransport(Transport):
    """Serves registered memory on a port of its own; a question is an address and a size."""

    name = "tcp"

    def __init__(self, host: str) -> None:
        self._registered: set[tuple[int, int]] = set()
        self._idle: dict[Address, list[socket.socket]] = {}
        self._lock = threading.Lock()
        self._listener = Listener(host, 0, self._serve, "kv-tcp")
        self._metadata = msgspec.msgpack.encode(Address(host, self._listener.port))

    def register(self, address: int, size: int) -> None:
        with self._lock:
            self._registered.add((address, size))

    def unregister(self, address: int, size: int) -> None:
        with self._lock:
            self._registered.discard((address, size))

    def metadata(self) -> bytes:
        return self._metadata

    def connect(self, metadata: bytes) -> object:
        try:
            return msgspec.msgpack.decode(metadata, type=Address)
        except msgspec.DecodeError as error:
            raise TransferError(f"the peer's address cannot be read: {error}") from error

    def read(self, peer: object, remote: int, local: int, size: int, over: Callable[[], bool]) -> None:
        assert isinstance(peer, Address)
        with self._lock:
            idle = self._idle.setdefault(peer, [])
            connection = idle.pop() if idle else None
        try:
            if connection is None:
                connection = socket.create_connection((peer.host, peer.port), timeout=SLICE)
            connection.settimeout(SLICE)
            connection.sendall(_QUESTION.pack(remote, size))
            answer = bytearray(1)
            _fill(connection, memoryview(answer), over)
            if bytes(answer) != _GOOD:
                raise TransferError("the peer does not give that memory")
            _fill(connection, _memory(local, size), over)
        except (OSError, TransferError) as error:
            if connection is not None:
                connection.close()
            raise TransferError(f"reading from {peer.host}:{peer.port} failed: {error}") from error
        with self._lock:
            self._idle.setdefault(peer, []).append(connection)

    def disconnect(self, peer: object) -> None:
        assert isinstance(peer, Address)
        with self._lock:
            idle = self._idle.pop(peer, [])
        for connection in idle:
            connection.close()

    def close(self) -> None:
        with self._lock:
            peers = list(self._idle)
        for peer in peers:
            self.disconnect(peer)
        self._listener.close()

    def _serve(self, connection: socket.socket) -> None:
        try:
            while (question := receive_bytes(connection, _QUESTION.size)) is not None:
                address, size = _QUESTION.unpack(question)
                if not self._is_registered(address, size):
                    connection.sendall(_BAD)
                    return
                connection.sendall(_GOOD)
                connection.sendall(_memory(address, size))
        except OSError as error:
            logger.info("a reader is gone: %s", error)

    def _is_registered(self, address: int, size: int) -> bool:
        with self._lock:
            return any(start <= address and address + size <= start + length for start, length in self._registered)


def _memory(address: int, size: int) -> memoryview:
    return memoryview((ctypes.c_ubyte * size).from_address(address)).cast("B")


def _fill(connection: socket.socket, into: memoryview, over: Callable[[], bool]) -> None:
    """Receives as many bytes as there is room for."""
    while into:
        try:
            count = connection.recv_into(into)
        except TimeoutError:
            if over():
                raise TransferError("it was given up") from None
            continue
        if not count:
            raise TransferError("the peer ended the connection")
        into = into[count:]
