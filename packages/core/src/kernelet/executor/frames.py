"""Messages with their length before them, over pipes and sockets: msgspec structs, never pickles."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import asyncio  # a process that is to stay small reads frames too

LENGTH = struct.Struct("<Q")
"""Stands before a message."""

LARGEST_READ = 1 << 20

Read = Callable[[int], bytes]
"""Gives at most so many bytes; none: the other side is gone."""


def frame(message: msgspec.Struct) -> bytes:
    """A message with its length before it."""
    body = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(body)) + body


def read_frame(read: Read, limit: int = 1 << 40) -> bytes:
    """The next message, and nothing behind it.

    Raises:
        EOFError: the other side is gone.
        OverflowError: the message is larger than the limit; nothing of it was read.
    """
    (length,) = LENGTH.unpack(_exactly(read, LENGTH.size))
    if length > limit:
        raise OverflowError(f"{length} bytes")
    return _exactly(read, length)


async def read_frame_of(stream: asyncio.StreamReader) -> bytes:
    """``read_frame`` in an event loop.

    Raises:
        asyncio.IncompleteReadError: the other side is gone; an EOFError.
    """
    (length,) = LENGTH.unpack(await stream.readexactly(LENGTH.size))
    return await stream.readexactly(length)


def descriptor(number: int) -> Read:
    """Reads from a file descriptor, which nobody else may have begun to read ahead."""
    return partial(os.read, number)


def _exactly(read: Read, count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        part = read(min(count - len(found), LARGEST_READ))
        if not part:
            raise EOFError("it ended within a message")
        found += part
    return bytes(found)
