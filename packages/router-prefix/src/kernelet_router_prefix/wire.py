"""Reads KV events as engines publish them: in vLLM's form of today (maps) and of before (arrays)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

STORED, REMOVED, CLEARED = "BlockStored", "BlockRemoved", "AllBlocksCleared"

FIELDS = MappingProxyType(
    {
        STORED: (
            *("block_hashes", "parent_block_hash", "token_ids", "block_size", "lora_id", "medium", "lora_name"),
            *("extra_keys", "group_idx", "kv_cache_spec_kind"),
        ),
        REMOVED: ("block_hashes", "medium", "group_idx"),
        CLEARED: (),
    }
)
"""The order of an array's members, after its tag."""

BlockHash = bytes | int


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """Blocks that follow each other are cached."""

    block_hashes: list[BlockHash]
    parent_block_hash: BlockHash | None = None
    token_ids: list[int]
    block_size: int
    medium: str | None = None
    lora_name: str | None = None
    extra_keys: list[list[Any] | None] | None = None
    kv_cache_spec_kind: str | None = None


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """Blocks are not cached any more."""

    block_hashes: list[BlockHash]
    medium: str | None = None


class Cleared(msgspec.Struct, frozen=True):
    """Nothing is cached."""


Event = Stored | Removed | Cleared

KINDS: Mapping[str, type[Event]] = MappingProxyType({STORED: Stored, REMOVED: Removed, CLEARED: Cleared})


def read_batch(payload: bytes) -> tuple[float, list[Event]]:
    """A batch's time and its events.

    Raises:
        ValueError: it is none.
    """
    try:
        batch = msgspec.msgpack.decode(payload)
        return float(batch[0]), [read_event(event) for event in batch[1]]
    except (msgspec.MsgspecError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"no batch of KV events: {error}") from error


def read_event(event: Any) -> Event:
    """One event of either form; members that are not known are left out."""
    members: dict[str, Any]
    if isinstance(event, dict):
        tag, members = event["type"], event
    else:
        tag = event[0]
        members = dict(zip(FIELDS[tag], event[1:], strict=False))
    kind: type[Event] = KINDS[tag]
    return msgspec.convert(members, kind, builtin_types=(bytes,))
