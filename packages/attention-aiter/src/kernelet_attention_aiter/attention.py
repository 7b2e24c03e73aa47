"""The attention of a layer: one call of the library a step."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.layers.paged import PagedCache
from kernelet_attention_aiter.library import load_library
from kernelet_attention_aiter.plan import PAGE, Pages


class AiterAttention(PagedCache):
    """``mha_batch_prefill_func``, whose mask is aligned to the bottom right, as chunks of prompts and decode need."""

    def __init__(self, spec: AttentionSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self._library = load_library()

    def build_metadata(self, batch: AttentionBatch, device: Any) -> Pages:
        return Pages.of(batch, self.spec.block_size, device)

    def forward(self, query: Tensor, cache: Any, metadata: Any, sinks: Tensor | None = None) -> Tensor:
        if not len(query):
            return torch.empty_like(query)
        pages: Pages = metadata
        spec = self.spec
        key, value = (part.view(-1, PAGE, spec.num_kv_heads, spec.head_size) for part in cache)
        found: Tensor = self._library.mha_batch_prefill_func(
            query,
            key,
            value,
            pages.query_start_loc,
            pages.indptr,
            pages.indices,
            pages.max_query_len,
            pages.max_seq_len,
            softmax_scale=spec.scale,
            logits_soft_cap=spec.soft_cap or 0.0,
            causal=True,
            window_size=(-1, -1) if spec.window is None else (spec.window - 1, 0),
            kv_last_page_lens=pages.last_page_lens,
        )
        return found
