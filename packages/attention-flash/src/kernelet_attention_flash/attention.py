"""The attention of a layer: one call of the library a step."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.graphs import CapturesDecode
from kernelet.contracts.offer import Settings
from kernelet.layers.paged import Cache, PagedCache, PagedStep
from kernelet_attention_flash.library import load_library

DECODE = 8
"""Tokens of a request up to which keys are split over programs, where all requests have as many."""


class FlashAttention(CapturesDecode, PagedCache):
    """What the generations have in common; their masks are aligned to the bottom right, as chunks of prompts need."""

    generation: ClassVar[int]

    def __init__(self, spec: AttentionSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self._library = load_library(self.generation)

    @abstractmethod
    def attend(self, query: Tensor, cache: Cache, step: PagedStep) -> Tensor:
        """[tokens, num_heads, head_size] of at least one token -> the same shape."""

    def forward(self, query: Tensor, cache: Any, metadata: Any, sinks: Tensor | None = None) -> Tensor:
        return self.attend(query, cache, metadata) if len(query) else torch.empty_like(query)

    def decode_metadata(self, num_requests: int, num_blocks: int, device: Any) -> PagedStep:
        def zeros(*shape: int, dtype: torch.dtype = torch.int32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        return PagedStep(
            slots=zeros(num_requests, dtype=torch.int64),
            query_start_loc=zeros(num_requests + 1),
            seq_lens=zeros(num_requests),
            key_start_loc=zeros(num_requests + 1),
            block_table=zeros(num_requests, num_blocks),
            max_query_len=1,
            max_seq_len=num_blocks * self.spec.block_size,
            is_uniform=True,
        )

    def refill(self, metadata: Any, batch: AttentionBatch) -> None:
        step: PagedStep = metadata
        step.refill(batch)

    @property
    def common(self) -> dict[str, Any]:
        """Arguments that all functions of the library take."""
        spec = self.spec
        return {"softmax_scale": spec.scale, "causal": True, "softcap": spec.soft_cap or 0.0}

    @property
    def window(self) -> tuple[int, int]:
        """Keys before and after its own that a query sees; -1: all that the causal mask leaves."""
        return (-1, -1) if self.spec.window is None else (self.spec.window - 1, 0)


class FlashAttention2(FlashAttention):
    """``flash_attn_with_kvcache``, which splits keys, for decode; else ``flash_attn_varlen_func``."""

    generation = 2

    def attend(self, query: Tensor, cache: Cache, step: PagedStep) -> Tensor:
        key, value = cache
        found: Tensor
        if step.is_uniform and step.max_query_len <= DECODE:
            found = self._library.flash_attn_with_kvcache(
                query.unflatten(0, (-1, step.max_query_len)),
                key,
                value,
                cache_seqlens=step.seq_lens,
                block_table=step.block_table,
                window_size=self.window,
                **self.common,
            )
            return found.flatten(0, 1)
        found = self._library.flash_attn_varlen_func(
            query,
            key,
            value,
            cu_seqlens_q=step.query_start_loc,
            cu_seqlens_k=step.key_start_loc,
            max_seqlen_q=step.max_query_len,
            max_seqlen_k=step.max_seq_len,
            block_table=step.block_table,
            window_size=self.window,
            **self.common,
        )
        return found


class FlashAttention3(FlashAttention):
    """``flash_attn_with_kvcache``, which takes queries of several lengths and splits keys where that helps."""

    generation = 3

    def attend(self, query: Tensor, cache: Cache, step: PagedStep) -> Tensor:
        key, value = cache
        found: Tensor = self._library.flash_attn_with_kvcache(
            query,
            key,
            value,
            cache_seqlens=step.seq_lens,
            page_table=step.block_table,
            cu_seqlens_q=step.query_start_loc,
            max_seqlen_q=step.max_query_len,
            window_size=self.window,
            **self.common,
        )
        return found


class FlashAttention4(FlashAttention):
    """``flash_attn_varlen_func`` with a page table; windows without an end are None."""

    generation = 4

    def attend(self, query: Tensor, cache: Cache, step: PagedStep) -> Tensor:
        key, value = cache
        found = self._library.flash_attn_varlen_func(
            query,
            key,
            value,
            cu_seqlens_q=step.query_start_loc,
            max_seqlen_q=step.max_query_len,
            seqused_k=step.seq_lens,
            page_table=step.block_table,
            window_size=tuple(None if bound < 0 else bound for bound in self.window),
            **self.common,
        )
        result: Tensor = found[0] if isinstance(found, tuple) else found  # and the log-sum-exp
        return result
