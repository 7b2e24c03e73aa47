"""What happened to cached prefixes, for those who keep an index of their own (routers, connectors)."""

from __future__ import annotations

import msgspec

from kernelet.cache.keys import BlockKey


class BlockStored(msgspec.Struct, frozen=True, tag="stored"):
    """A group's prefix index took up a block."""

    group: int
    key: BlockKey


class BlockRemoved(msgspec.Struct, frozen=True, tag="removed"):
    """A group's prefix index gave up a block."""

    group: int
    key: BlockKey


CacheEvent = BlockStored | BlockRemoved


class EventLog:
    """Collects events until they are taken; keeps nothing where nobody listens."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._events: list[CacheEvent] = []

    def add(self, event: CacheEvent) -> None:
        if self._enabled:
            self._events.append(event)

    def take(self) -> list[CacheEvent]:
        """The events since the last call, oldest first."""
        events, self._events = self._events, []
        return events
