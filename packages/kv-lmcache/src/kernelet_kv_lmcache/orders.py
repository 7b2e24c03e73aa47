"""What the two sides of the connector say to each other, with steps."""

from __future__ import annotations

import msgspec


class Lookup(msgspec.Struct, frozen=True):
    """How many of these chunks are there? Asked by rank 0 for all ranks."""

    session: str
    keys: list[bytes]


class Free(msgspec.Struct, frozen=True):
    """Chunks [first, last) of a lookup are not loaded; ``ends``: nothing more of the session comes."""

    session: str
    keys: list[bytes]
    first: int
    last: int
    ends: bool


class Load(msgspec.Struct, frozen=True):
    """Tokens [start, end) of a request; ``keys`` of all chunks up to the one that holds the last."""

    transfer: int
    session: str
    keys: list[bytes]
    start: int
    end: int
    block_ids: tuple[int, ...]


class Save(msgspec.Struct, frozen=True):
    """Chunks from ``first`` on of a request; ``keys`` of all chunks up to the last one to save.

    ``transfer`` 0: they are computed by this step's end, and copied before the next one, as many as there is room for.
    """

    transfer: int
    request: str
    keys: list[bytes]
    first: int
    block_ids: tuple[int, ...]


class Orders(msgspec.Struct, frozen=True):
    """To every rank, with a step.

    Attributes:
        url: Where the server is.
        chunk: Tokens a chunk; 0: the server is asked.
    """

    url: str
    chunk: int
    lookups: list[Lookup] = []
    frees: list[Free] = []
    loads: list[Load] = []
    saves: list[Save] = []


class Report(msgspec.Struct, frozen=True):
    """From a rank, with a step.

    Attributes:
        alive: Whether its server answers.
        chunk: Tokens a chunk; 0: not known yet.
        found: Chunks that were found, by session.
        spoiled: Keys of chunks that were not what had been stored.
        short: Chunks that were saved of a request, where that is less than was ordered.
    """

    alive: bool
    chunk: int
    found: dict[str, int] = {}
    spoiled: list[bytes] = []
    short: dict[str, int] = {}
