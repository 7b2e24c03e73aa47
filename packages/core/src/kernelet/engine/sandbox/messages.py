"""What parent and helper tell each other, over a socket."""

from __future__ import annotations

import socket
import time

import msgspec

from kernelet.config import PluginsConfig
from kernelet.executor.frames import frame, read_frame


class PluginsOfHelper(msgspec.Struct, frozen=True, kw_only=True):
    """What a helper loads once a target needs plugins.

    Attributes:
        manifest: ``Manifest.encode()`` of those of the parent's plugins that helpers need.
        config: What the operator said about plugins.
    """

    manifest: bytes
    config: PluginsConfig


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """The first message to a helper.

    Attributes:
        path: ``sys.path`` of the parent.
        memory_bytes: What a call may allocate beyond what the helper holds.
    """

    path: list[str]
    memory_bytes: int


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What a helper makes once and keeps: a call's target takes it as an argument.

    Attributes:
        target: ``"package.module:function"``: it takes bytes, and returns anything.
        payload: Its argument.
        key: The same for the same payload only; a helper that has made it is sent no payload again.
    """

    target: str
    payload: bytes
    key: str


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call. The answer is a ``Started`` once the target is imported and its setup made, then a ``Reply``.

    Attributes:
        target: ``"package.module:function"``; it takes bytes and returns bytes.
        payload: Its argument.
        seconds: How long it may run.
        plugins: What the helper loads first; the target, or the setup's, then takes a ``PluginView`` as a second
            argument.
        setup: What the helper makes first; the target then takes what it made as its second argument instead.
    """

    target: str
    payload: bytes
    seconds: float
    plugins: PluginsOfHelper | None = None
    setup: Setup | None = None


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
    data = frame(message)
    channel.settimeout(seconds)
    channel.sendall(data)


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

    def read(count: int) -> bytes:
        left = None if until is None else until - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        channel.settimeout(left)
        return channel.recv(count)

    try:
        return read_frame(read, limit)
    except (EOFError, ConnectionError):
        return None
