"""The attention of a layer: plans once a step and kind of layer, then runs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.layers.paged import PagedCache
from kernelet_attention_flashinfer.library import load_library
from kernelet_attention_flashinfer.plan import Pages, Wrappers


class FlashInferAttention(PagedCache):
    """Steps of one token a request run in the decode wrapper, others in the prefill wrapper."""

    def __init__(self, spec: AttentionSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self._library = load_library()
        self._wrappers: Wrappers | None = None

    def build_metadata(self, batch: AttentionBatch, device: Any) -> tuple[Pages, Wrappers]:
        if self._wrappers is None:
            self._wrappers = Wrappers(self._library, device)
        return Pages.of(batch, self.spec.block_size, device), self._wrappers

    def write_kv(self, key: Tensor, value: Tensor, cache: Any, metadata: Any) -> None:
        super().write_kv(key, value, cache, metadata[0])

    def forward(self, query: Tensor, cache: Any, metadata: Any, sinks: Tensor | None = None) -> Tensor:
        if not len(query):
            return torch.empty_like(query)
        pages, wrappers = metadata
        key, options = self._layer
        wrapper = pages.wrapper(key, lambda: self._planned(pages, wrappers.get(key, decode=pages.is_decode), options))
        elements = tuple(part.view(torch.float8_e4m3fn) for part in cache) if self.spec.cache_form else cache
        found: Tensor = wrapper.run(query.contiguous(), elements)
        return (found * self.scales[1]).to(query.dtype) if self.spec.cache_form else found

    @property
    def _layer(self) -> tuple[Any, dict[str, Any]]:
        """What a plan depends on besides the step: a key, and FlashInfer's options."""
        spec = self.spec
        dtype = getattr(torch, spec.dtype)
        options = {
            "window_left": -1 if spec.window is None else spec.window - 1,
            "logits_soft_cap": spec.soft_cap or 0.0,
            "sm_scale": spec.scale * self.scales[0],
            "q_data_type": dtype,
            "kv_data_type": torch.float8_e4m3fn if spec.cache_form else dtype,
        }
        return (spec.num_heads, *options.values()), options

    def _planned(self, step: Pages, wrapper: Any, options: dict[str, Any]) -> Any:
        spec = self.spec
        pages = (step.indptr, step.indices, step.last_page_len)
        sizes = (spec.num_heads, spec.num_kv_heads, spec.head_size, spec.block_size)
        if step.is_decode:
            wrapper.plan(*pages, *sizes, **options)
        else:
            wrapper.plan(step.query_start_loc, *pages, *sizes, causal=True, **options)
        return wrapper
