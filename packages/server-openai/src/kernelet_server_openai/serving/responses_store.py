"""Responses that are kept, in the memory of one frontend, within a limit of bytes."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import msgspec

from kernelet_server_openai.protocol.errors import ApiError

ENTRY_BYTES = 512
"""What an entry takes beside its text."""

Owner = int | None
"""Number of an API key."""


class Kept(msgspec.Struct):
    """A response and the conversation that it ends: what a next one goes on from."""

    response: dict[str, Any]
    messages: list[dict[str, Any]]


@dataclass(frozen=True)
class Entry:
    """What is held: encoded, so that its size is known."""

    owner: Owner
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data) + ENTRY_BYTES


class ResponseStore:
    """Forgets the ones that were not used for the longest time.

    Args:
        limit: Most bytes; 0: nothing is kept.
        reason: Why nothing is kept, if so.
    """

    def __init__(self, limit: int, reason: str = "") -> None:
        self._limit = limit
        self._reason = reason
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self.size = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def keeps(self) -> bool:
        """Whether responses are kept at all."""
        return self._limit > 0

    def check(self, field: str) -> None:
        """Refuses a field that needs kept responses.

        Raises:
            ApiError: 400: there are none here.
        """
        if not self.keeps:
            raise ApiError(400, f"{field}: responses are not kept here: {self._reason}", param=field, code="not_stored")

    def put(self, name: str, owner: Owner, kept: Kept) -> None:
        """Keeps a response, or its newer state. One that is larger than everything may be is not kept."""
        self._drop(name)
        entry = Entry(owner, msgspec.msgpack.encode(kept))
        if entry.size > self._limit:
            return
        self._entries[name] = entry
        self.size += entry.size
        while self.size > self._limit:
            self._drop(next(iter(self._entries)))

    def get(self, name: str, owner: Owner) -> Kept | None:
        """A response of that key; None: it is not kept, or another's."""
        entry = self._entries.get(name)
        if entry is None or entry.owner != owner:
            return None
        self._entries.move_to_end(name)
        return msgspec.msgpack.decode(entry.data, type=Kept)

    def delete(self, name: str, owner: Owner) -> bool:
        """Forgets a response; False: it was not kept."""
        entry = self._entries.get(name)
        if entry is None or entry.owner != owner:
            return False
        self._drop(name)
        return True

    def _drop(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None:
            self.size -= entry.size


def response_store(limit: int, num_frontends: int) -> ResponseStore:
    """The store of one frontend. Where there are several, a next turn may come to another: they keep nothing."""
    if num_frontends > 1:
        return ResponseStore(0, "several frontends share the port (--api-server-count)")
    return ResponseStore(limit, "start the server with --response-store-bytes above 0")
