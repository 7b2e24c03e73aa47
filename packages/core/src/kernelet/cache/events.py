"""What happened to cached prefixes, for those who keep an index of their own (routers)."""

from __future__ import annotations

import msgspec

from kernelet.cache.keys import BlockKey, Extra


class BlockStored(msgspec.Struct, frozen=True, kw_only=True, tag="stored"):
    """A group's prefix index took up blocks that follow each other.

    Attributes:
        group: Index of the group.
        keys: Their keys, in order.
        parent: Key of the block before the first; ``ROOT``: there is none.
        token_ids: Their tokens, ``block_size`` each.
        block_size: Tokens a block.
        extras: What else decides the content of each, as in ``block_extras``.
    """

    group: int
    keys: tuple[BlockKey, ...]
    parent: BlockKey
    token_ids: tuple[int, ...]
    block_size: int
    extras: tuple[tuple[Extra, ...], ...] = ()


class BlockRemoved(msgspec.Struct, frozen=True, kw_only=True, tag="removed"):
    """A group's prefix index gave up a block."""

    group: int
    key: BlockKey


class AllBlocksCleared(msgspec.Struct, frozen=True, tag="cleared"):
    """All groups forgot all that they had."""


CacheEvent = BlockStored | BlockRemoved | AllBlocksCleared


class EventLog:
    """Collects events until they are taken; keeps nothing where nobody listens.

    Attributes:
        enabled: Whether somebody listens.
    """

    def __init__(self, *, enabled: bool) -> None:
        self.enabled = enabled
        self._events: list[CacheEvent] = []

    def add(self, event: CacheEvent) -> None:
        if self.enabled:
            self._events.append(event)

    def take(self) -> list[CacheEvent]:
        """The events since the last call, oldest first."""
        events, self._events = self._events, []
        return events
