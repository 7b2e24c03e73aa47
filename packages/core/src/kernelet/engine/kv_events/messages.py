"""The form of KV events: that of vLLM 0.32, field for field, in msgpack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from kernelet.cache.events import AllBlocksCleared, BlockStored, CacheEvent
from kernelet.cache.groups import spec_kind
from kernelet.cache.keys import Extra
from kernelet.contracts.cache import CacheConfigPlan, SlidingWindowSpec

MEDIUM = "GPU"
"""What that form calls the engine's own cache, wherever it lies."""

RANK = 0

KINDS = (("full", "full_attention"), ("mla", "mla_attention"))
"""Kinds of state that have another name there."""


class StoredMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="BlockStored"):
    """Blocks that follow each other are cached.

    Attributes:
        block_hashes: Their names, which hold all that decides their content.
        parent_block_hash: Of the block before the first; None: there is none.
        token_ids: Of all of them.
        extra_keys: What else decides the content, a list a block: the salt, ``(content hash, offset)`` of media.
    """

    block_hashes: list[bytes]
    parent_block_hash: bytes | None
    token_ids: list[int]
    block_size: int
    lora_id: int | None
    medium: str | None
    lora_name: str | None
    extra_keys: list[list[Any] | None] | None = None
    group_idx: int | None = None
    kv_cache_spec_kind: str | None = None
    kv_cache_spec_sliding_window: int | None = None


class RemovedMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="BlockRemoved"):
    """Blocks are not cached any more."""

    block_hashes: list[bytes]
    medium: str | None
    group_idx: int | None = None


class ClearedMessage(msgspec.Struct, frozen=True, tag="AllBlocksCleared"):
    """Nothing is cached."""


Message = StoredMessage | RemovedMessage | ClearedMessage


class EventBatch(msgspec.Struct, frozen=True, array_like=True):
    """What one step brought.

    Attributes:
        ts: Seconds since the epoch.
        data_parallel_rank: Number of the engine among those of one server.
    """

    ts: float
    events: list[Message]
    data_parallel_rank: int = RANK


class Translator:
    """Events of the cache in that form.

    Args:
        plan: The cache's groups.
    """

    def __init__(self, plan: CacheConfigPlan) -> None:
        names = dict(KINDS)
        specs = [group.spec for group in plan.groups]
        self._kinds = [names.get(spec_kind(spec), spec_kind(spec)) for spec in specs]
        self._windows = [spec.window if isinstance(spec, SlidingWindowSpec) else None for spec in specs]

    def messages(self, events: Sequence[CacheEvent]) -> list[Message]:
        """In their order; of a group, blocks that leave one after the other leave together."""
        found: list[Message] = []
        for event in events:
            if isinstance(event, AllBlocksCleared):
                found.append(ClearedMessage())
            elif isinstance(event, BlockStored):
                found.append(self._stored(event))
            elif found and isinstance(found[-1], RemovedMessage) and found[-1].group_idx == event.group:
                found[-1].block_hashes.append(event.key)
            else:
                found.append(RemovedMessage(block_hashes=[event.key], medium=MEDIUM, group_idx=event.group))
        return found

    def _stored(self, event: BlockStored) -> StoredMessage:
        extras = [
            [told for extra in one for told in _told(extra)] or None for one in event.extras or [()] * len(event.keys)
        ]
        return StoredMessage(
            block_hashes=list(event.keys),
            parent_block_hash=event.parent or None,
            token_ids=list(event.token_ids),
            block_size=event.block_size,
            lora_id=None,
            medium=MEDIUM,
            lora_name=None,
            extra_keys=extras,
            group_idx=event.group,
            kv_cache_spec_kind=self._kinds[event.group],
            kv_cache_spec_sliding_window=self._windows[event.group],
        )


def _told(extra: Extra) -> list[Any]:
    """An extra without its tag, as that form has it."""
    tag, values = extra
    if tag == "segment":
        _, content_hash, offset, _ = values
        return [[content_hash.hex() if isinstance(content_hash, bytes) else content_hash, offset]]
    return list(values)
