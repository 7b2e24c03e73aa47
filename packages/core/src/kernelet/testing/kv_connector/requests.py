"""Requests without an engine, and what their keys and values would be."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.kv import KVIdentity, KVLayout, KVPart

IDENTITY = KVIdentity(weights="weights", dtype="float32", kv_cache_dtype="auto", arithmetic="plain")
"""Of the engines of the suite, where they do not differ on purpose."""


@dataclass(eq=False)
class KitRequest:
    """``KVRequest``, as simple as it can be.

    Attributes:
        adapter: Digest of an adapter.
        media: Offset and digest of each picture in the prompt.
    """

    request_id: str
    token_ids: list[int]
    num_prompt_tokens: int
    identity: KVIdentity = IDENTITY
    kv_transfer_params: Mapping[str, Any] | None = None
    cache_salt: str = ""
    adapter: str = ""
    media: tuple[tuple[int, str], ...] = ()
    finish_reason: str | None = None

    @property
    def num_tokens(self) -> int:
        return len(self.token_ids)

    def key(self, num_tokens: int) -> bytes:
        """Digest of all at once: slow, and no other cut of the same facts has it."""
        if not 1 <= num_tokens <= len(self.token_ids):
            raise ValueError(f"{self.request_id} has {len(self.token_ids)} tokens: {num_tokens} of them have no key")
        seen = tuple(entry for entry in self.media if entry[0] < num_tokens)
        facts = (self.identity, self.adapter, self.cache_salt, seen, tuple(self.token_ids[:num_tokens]))
        return hashlib.sha256(repr(facts).encode()).digest()


def truth(request: KitRequest, layout: KVLayout, layer: str, start: int, end: int) -> tuple[Tensor, ...]:
    """What the model would write for tokens [start, end) on the layout's rank: a function of each token's key."""
    heads = slice(layout.rank * layout.num_kv_heads, (layout.rank + 1) * layout.num_kv_heads)
    keys = [request.key(position + 1) for position in range(start, end)]
    return tuple(_values(keys, layer, part, layout.world_size * layout.num_kv_heads)[:, heads] for part in layout.parts)


def _values(keys: Sequence[bytes], layer: str, part: KVPart, heads: int) -> Tensor:
    found = torch.empty(len(keys), heads, part.width)
    for row, key in zip(found, keys, strict=True):
        seed = hashlib.sha256(key + f"{layer}/{part.name}".encode()).digest()[:7]
        row.copy_(torch.randn(heads, part.width, generator=torch.Generator().manual_seed(int.from_bytes(seed))))
    return found.to(getattr(torch, part.dtype))
