"""What a rank and its agent say to each other: messages behind their lengths, on a socket."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import msgspec

BEAT = 0.5
"""Seconds between two beats of an agent."""
IDS = 8
"""Made-up token ids that hold a key; a chunk has as many tokens at least."""


class Setup(msgspec.Struct, frozen=True, tag=True):
    """First of all. ``chunk`` is 0 where the server is asked for it."""

    url: str
    name: str
    rank: int
    world_size: int
    chunk: int
    token_bytes: int
    buffer_bytes: int
    timeout: float


class Lookup(msgspec.Struct, frozen=True, tag=True):
    """How many of these chunks are there, from the first one on; they are held for this session."""

    number: int
    session: str
    keys: list[bytes]


class Free(msgspec.Struct, frozen=True, tag=True):
    """Chunks [first, last) of a session are held no more, on every rank or on this one; ``ends``: it is over."""

    session: str
    keys: list[bytes]
    first: int
    last: int
    whole: bool
    ends: bool


class Get(msgspec.Struct, frozen=True, tag=True):
    """Chunks from ``first`` on, into slots."""

    number: int
    session: str
    keys: list[bytes]
    first: int
    slots: list[int]


class Put(msgspec.Struct, frozen=True, tag=True):
    """Chunks from ``first`` on, out of slots."""

    number: int
    session: str
    keys: list[bytes]
    first: int
    slots: list[int]


class Answer(msgspec.Struct, frozen=True, tag=True):
    """Chunks that were found, brought or stored; ``spoiled`` is the key of one whose seal was not its own."""

    number: int
    count: int
    spoiled: bytes = b""


class State(msgspec.Struct, frozen=True, tag=True):
    """The server answers, or why it does not."""

    alive: bool
    chunk: int = 0
    reason: str = ""


class Beat(msgspec.Struct, frozen=True, tag=True):
    """The agent is there, whatever its server does."""


Message = Setup | Lookup | Free | Get | Put
Reply = Answer | State | Beat


def send(sock: socket.socket, message: Message | Reply) -> None:
    """One message, behind its length."""
    data = msgspec.msgpack.encode(message)
    sock.sendall(struct.pack("<I", len(data)) + data)


def receive(sock: socket.socket) -> Iterator[bytes]:
    """The messages that come, until the other side ends."""
    with sock.makefile("rb") as stream:
        while len(head := stream.read(4)) == 4:
            data = stream.read(struct.unpack("<I", head)[0])
            yield data


def num_slots(setup: Setup, chunk: int) -> int:
    """Slots of the shared memory: half are for loads."""
    return max(2, setup.buffer_bytes // (chunk * setup.token_bytes))
