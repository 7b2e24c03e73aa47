"""The message on an engine's standard input; the pipe then stays open, and its end is the parent's end."""

from __future__ import annotations

import struct
from typing import BinaryIO

import msgspec

from kernelet.engine.remote.messages import EngineStart

LENGTH = struct.Struct("<Q")


def write_start(start: EngineStart) -> bytes:
    """The message, with its length before it."""
    data = msgspec.msgpack.encode(start)
    return LENGTH.pack(len(data)) + data


def read_start(source: BinaryIO) -> EngineStart:
    """The message that the parent wrote."""
    (length,) = LENGTH.unpack(source.read(LENGTH.size))
    return msgspec.msgpack.decode(source.read(length), type=EngineStart)
