"""What parent and helper tell each other: msgpack in frames that start with their length."""

from __future__ import annotations

import socket
import time
from typing import Final

import msgspec

from kernelet.config import PluginsConfig

_LENGTH: Final = 8


class PluginsOfHelper(msgspec.Struct, frozen=True, kw_only=True):
    """What a helper loads once a target needs plugins.

    Attributes:
        manifest: ``Manifest.encode()`` of the parent.
        config: What the operator said about plugins.
    """

    manifest: bytes
    config: PluginsConfig


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """The first message to a helper.

    Attributes:
        parent: Process id; a helper whose parent is another one ends.
        path: ``sys.path`` of the parent.
        memory_bytes: What a call may allocate beyond what the helper holds.
    """

    parent: int
    path: list[str]
    memory_bytes: int


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call. The answer is a ``Started`` once the target is imported, then a ``Reply``.

    Attributes:
        target: ``"package.module:function"``; it takes bytes and returns bytes.
        payload: Its argument.
        seconds: How long it may run.
        plugins: What the helper loads first; the target then takes a ``PluginView`` as a second argument.
    """

    target: str
    payload: bytes
    seconds: float
    plugins: PluginsOfHelper | None = None


class Started(msgspec.Struct, frozen=True, tag=True):
    """The target is about to run."""


class Reply(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """How a call ended.

    Attributes:
        result: What the target returned.
        error: Class of what it raised instead; empty: nothing.
        message: Its text.
        out_of_memory: It ended at the memory limit.
        is_last: The helper ends now: it holds more memory than a helper should.
    """

    result: bytes = b""
    error: str = ""
    message: str = ""
    out_of_memory: bool = False
    is_last: bool = False


def send(channel: socket.socket, message: msgspec.Struct, seconds: float | None = None) -> None:
    """Writes a message.

    Raises:
        TimeoutError: the other side does not read.
        OSError: it is gone.
    """
    data = msgspec.msgpack.encode(message)
    channel.settimeout(seconds)
    channel.sendall(len(data).to_bytes(_LENGTH, "big") + data)


def receive(channel: socket.socket, limit: int, until: float | None = None) -> bytes | None:
    """Reads a message; None: the other side is gone.

    Args:
        channel: The socket.
        limit: Most bytes of a message.
        until: ``time.monotonic()`` at which to give up.

    Raises:
        TimeoutError: it did not come in time.
        OverflowError: it is larger.
    """
    head = _read(channel, _LENGTH, until)
    if head is None:
        return None
    length = int.from_bytes(head, "big")
    if length > limit:
        raise OverflowError(f"{length} bytes")
    return _read(channel, length, until)


def _read(channel: socket.socket, count: int, until: float | None) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        if until is not None:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            channel.settimeout(left)
        else:
            channel.settimeout(None)
        try:
            part = channel.recv(min(count - len(data), 1 << 20))
        except ConnectionError:
            return None
        if not part:
            return None
        data += part
    return bytes(data)
