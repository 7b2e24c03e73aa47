"""What the two sides of the store's connector tell each other."""

from __future__ import annotations

import msgspec


class Lookup(msgspec.Struct, frozen=True, kw_only=True):
    """Asks how many of these objects are there, from the first on."""

    number: int
    keys: tuple[bytes, ...]


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens [start, end) under the key of the first ``end``."""

    key: bytes
    start: int
    end: int


class Fetch(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens [start, end) are to be loaded; the chunks cover them."""

    transfer: int
    chunks: tuple[Chunk, ...]
    start: int
    end: int
    block_ids: tuple[tuple[int, ...], ...]


class Save(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk that this step completes."""

    chunk: Chunk
    block_ids: tuple[tuple[int, ...], ...]


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """To workers, with a step."""

    lookups: tuple[Lookup, ...] = ()
    fetches: tuple[Fetch, ...] = ()
    saves: tuple[Save, ...] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """From a worker.

    Attributes:
        found: Answers to lookups.
        unsaved: Keys of chunks that were not stored.
    """

    found: dict[int, int] = {}
    unsaved: tuple[bytes, ...] = ()
