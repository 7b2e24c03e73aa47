"""What the two sides say to each other, in ``build_connector_meta`` and ``build_connector_worker_meta``."""

from __future__ import annotations

import msgspec

_ENCODER = msgspec.msgpack.Encoder()

Blocks = tuple[tuple[int, ...], ...]
"""Part of a request's block list in each group."""


class Save(msgspec.Struct, frozen=True, array_like=True):
    """A chunk to be copied from pages to memory, and from there written to the disk if there is one.

    Attributes:
        slot: Where to; nobody else has it until the rank is done with it.
        key: The chunk's.
        start: Its first token, in each group counted from the first token of ``blocks``.
        blocks: Blocks that hold the chunk.
    """

    slot: int
    key: bytes
    start: tuple[int, ...]
    blocks: Blocks


class Source(msgspec.Struct, frozen=True, array_like=True):
    """Where a chunk of a load is.

    Attributes:
        key: The chunk's.
        slot: Memory that has it, or will have it once it was read from the disk; 0: none.
        filled: Whether the memory has it.
    """

    key: bytes
    slot: int
    filled: bool


class Load(msgspec.Struct, frozen=True, array_like=True):
    """Tokens [start, end) of a request.

    Attributes:
        transfer: Number of the load.
        start: First token.
        end: Behind the last token.
        blocks: The request's blocks up to ``end``.
        chunks: Those that hold the tokens, the first may begin before ``start`` and the last end behind ``end``.
    """

    transfer: int
    start: int
    end: int
    blocks: Blocks
    chunks: tuple[Source, ...]


class Meta(msgspec.Struct, frozen=True, array_like=True):
    """To every rank, with a step in which there is something to do.

    Attributes:
        generation: Times that the store was forgotten; files that are older than the last time go.
        loads: To be begun.
        saves: Of this step.
        counts: What the scheduler side counted, for the stats of the first rank.
    """

    generation: int = 0
    loads: tuple[Load, ...] = ()
    saves: tuple[Save, ...] = ()
    counts: dict[str, float] = {}


class Loaded(msgspec.Struct, frozen=True, array_like=True):
    """A load is over on this rank, in whatever way: it reads and fills no slot any more.

    Attributes:
        transfer: Number of the load.
        filled: Slots that have now what was read from the disk for them.
    """

    transfer: int
    filled: tuple[int, ...] = ()


class Report(msgspec.Struct, frozen=True, array_like=True):
    """From a rank, with a step.

    Attributes:
        generation: The last that this rank has seen through.
        saved: Slots that hold what was to be saved in them.
        released: Slots that the disk's writer is done with.
        loaded: Loads that are over.
        found: Keys of files of this rank that are there now.
        lost: Keys of files that are there no more.
    """

    generation: int = 0
    saved: tuple[int, ...] = ()
    released: tuple[int, ...] = ()
    loaded: tuple[Loaded, ...] = ()
    found: tuple[bytes, ...] = ()
    lost: tuple[bytes, ...] = ()


def encode(message: Meta | Report) -> bytes:
    """As the core carries it."""
    return _ENCODER.encode(message)


def decode_meta(data: bytes) -> Meta:
    """What ``encode`` made of a ``Meta``."""
    return msgspec.msgpack.decode(data, type=Meta)


def decode_report(data: bytes) -> Report:
    """What ``encode`` made of a ``Report``."""
    return msgspec.msgpack.decode(data, type=Report)
