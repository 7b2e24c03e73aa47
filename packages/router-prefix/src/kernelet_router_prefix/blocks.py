"""Which prefixes an engine has cached, and how much of a prompt that is."""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from kernelet_router_prefix.wire import BlockHash, Cleared, Event, Removed, Stored

KEY_BYTES = 16

ROOT = b""

PARTIAL_KINDS = frozenset({"sliding_window", "sliding_window_mla", "chunked_local_attention", "mamba"})
"""Groups of layers that keep the end of a prefix only."""

_ENCODE = msgspec.msgpack.Encoder().encode


def block_key(parent: bytes, token_ids: Sequence[int], extra: Sequence[Any] | None) -> bytes:
    """The router's own name of a block: engines' names differ, and tokens are told with them."""
    tokens = struct.pack(f"<{len(token_ids)}q", *token_ids)
    return hashlib.blake2b(_ENCODE((parent, tokens, list(extra or ()))), digest_size=KEY_BYTES).digest()


class PromptKeys:
    """The names of a prompt's full blocks, of any size.

    Args:
        token_ids: The prompt.
        salt: Its ``cache_salt``.
    """

    def __init__(self, token_ids: Sequence[int], salt: str | None = None) -> None:
        self.token_ids = token_ids
        self._first = [salt] if salt else None
        self._chains: dict[int, list[bytes]] = {}

    def chain(self, block_size: int) -> list[bytes]:
        """In order."""
        if block_size not in self._chains:
            keys: list[bytes] = []
            for start in range(0, len(self.token_ids) - block_size + 1, block_size):
                parent = keys[-1] if keys else ROOT
                tokens = self.token_ids[start : start + block_size]
                keys.append(block_key(parent, tokens, None if start else self._first))
            self._chains[block_size] = keys
        return self._chains[block_size]


class CachedBlocks:
    """One engine's, as its events tell. A block that lies in two places is there until both give it up."""

    def __init__(self) -> None:
        self._keys: dict[BlockHash, bytes] = {}
        self._places: dict[BlockHash, set[str | None]] = {}
        self._held: Counter[bytes] = Counter()
        self._block_sizes: set[int] = set()

    def __len__(self) -> int:
        return len(self._held)

    def clear(self) -> None:
        """Nothing is known any more."""
        self._keys.clear()
        self._places.clear()
        self._held.clear()
        self._block_sizes.clear()

    def apply(self, event: Event) -> None:
        """Takes one event.

        Raises:
            ValueError: it contradicts itself.
        """
        if isinstance(event, Cleared):
            self.clear()
        elif isinstance(event, Removed):
            for block_hash in event.block_hashes:
                self._forget(block_hash, event.medium)
        elif event.kv_cache_spec_kind not in PARTIAL_KINDS:
            self._store(event)

    def longest(self, prompt: PromptKeys) -> int:
        """Tokens at a prompt's begin that are cached."""
        best = 0
        for size in self._block_sizes:
            count = 0
            for key in prompt.chain(size):
                if key not in self._held:
                    break
                count += 1
            best = max(best, count * size)
        return best

    def _store(self, event: Stored) -> None:
        size = event.block_size
        if size < 1 or len(event.token_ids) != size * len(event.block_hashes):
            raise ValueError(f"{len(event.token_ids)} tokens of {len(event.block_hashes)} blocks of {size}")
        parent = ROOT if event.parent_block_hash is None else self._keys.get(event.parent_block_hash)
        if parent is None:  # what it follows was lost: nobody can say what it is a prefix of
            return
        for place, block_hash in enumerate(event.block_hashes):
            extra = event.extra_keys[place] if event.extra_keys else [event.lora_name] if event.lora_name else None
            parent = block_key(parent, event.token_ids[place * size : (place + 1) * size], extra)
            if block_hash not in self._keys:
                self._keys[block_hash] = parent
                self._held[parent] += 1
            self._places.setdefault(block_hash, set()).add(event.medium)
        self._block_sizes.add(size)

    def _forget(self, block_hash: BlockHash, medium: str | None) -> None:
        places = self._places.get(block_hash, set())
        places.discard(medium)
        if places or block_hash not in self._keys:
            return
        del self._places[block_hash]
        key = self._keys.pop(block_hash)
        self._held[key] -= 1
        if not self._held[key]:
            del self._held[key]
