"""Wrong latent attention."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.testing.attention.kept import SlowKept
from kernelet.testing.attention.reference import attend


class ValueFromTheEnd(SlowKept):
    """Takes the rotated part for the end of the value."""

    def seen(self, cache: Any, table: Any, length: int, queries: int) -> tuple[Tensor, Tensor]:
        key, value = super().seen(cache, table, length, queries)
        return key, value.roll(self.spec.value_size, -1) if self.spec.kv_lora_rank else value


class OnlyTheLatent(SlowKept):
    """Leaves the rotated part out of the scores."""

    def attend(self, query: Tensor, key: Tensor, value: Tensor, sinks: Tensor | None) -> Tensor:
        rank = self.spec.kv_lora_rank
        if not rank:
            return super().attend(query, key, value, sinks)
        return attend(query[..., :rank], key[..., :rank], value, replace(self.spec, head_size=rank), sinks)


class KeepsValues(SlowKept):
    """Has room for values that nobody needs."""

    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Any:
        cache = super().allocate_cache(spec, num_blocks, device)
        if not self.spec.kv_lora_rank:
            return cache
        return [*(cache if isinstance(cache, list) else [cache]), torch.zeros_like(cache[0])]

    def write_kv(self, key: Tensor, value: Tensor, cache: Any, metadata: AttentionBatch) -> None:
        super().write_kv(key, value, cache[0] if self.spec.kv_lora_rank else cache, metadata)


class StoredValue(SlowKept):
    """Writes the value that it is given over the beginning of the key."""

    def write_kv(self, key: Tensor, value: Tensor, cache: Any, metadata: AttentionBatch) -> None:
        rank = self.spec.kv_lora_rank
        super().write_kv(torch.cat((value, key[..., rank:]), -1) if rank else key, value, cache, metadata)


LATENT_PLANTED: tuple[tuple[str, type[Any], str], ...] = (
    ("takes-the-rotated-part-for-a-value", ValueFromTheEnd, "must attend with its only key"),
    ("forgets-the-rotated-part", OnlyTheLatent, "must attend with its only key"),
    ("keeps-values-of-latents", KeepsValues, "must take no more than num_blocks * page_bytes bytes"),
    ("stores-the-value-of-a-latent", StoredValue, "whatever write_kv() is given"),
)
"""Name, attention, and what the suite says of it."""
