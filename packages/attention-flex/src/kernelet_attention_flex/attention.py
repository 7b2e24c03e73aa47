"""The attention of a layer: gathers the keys and values that a step sees, and calls ``flex_attention``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import AuxRequest

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.layers.paged import Cache, PagedCache
from kernelet_attention_flex.flex import attention
from kernelet_attention_flex.plan import Group, StepMetadata, plan_step


class FlexAttention(PagedCache):
    """Requests with equally many tokens and about as many keys are one call.

    Nothing of one request is in the sums of another.
    """

    def __init__(self, spec: AttentionSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self._calls = {compiled: attention(compiled=compiled) for compiled in (False, True)}

    def build_metadata(self, batch: AttentionBatch, device: Any) -> StepMetadata:
        where = torch.device(device)
        return plan_step(batch, self.spec, where, blocks=self._is_compiled(where))

    def forward(self, query: Tensor, cache: Any, metadata: Any, sinks: Tensor | None = None) -> Tensor:
        step: StepMetadata = metadata
        result = torch.empty_like(query)
        for group in step.groups:
            result[group.tokens] = self._attend(query[group.tokens], cache, group, sinks)
        return result

    def _attend(self, query: Tensor, cache: Cache, group: Group, sinks: Tensor | None) -> Tensor:
        """[requests, tokens, num_heads, head_size] -> the same shape."""
        spec, (key_scale, value_scale) = self.spec, self.scales
        is_compiled = self._is_compiled(query.device)
        # uncompiled, products are of the inputs' dtype
        dtype = query.dtype if is_compiled or query.itemsize > 2 else torch.float32
        key, value = (self._gathered(part, group.slots, dtype) for part in cache)
        found, aux = self._calls[is_compiled](
            query.to(dtype).transpose(1, 2),
            key,
            value,
            score_mod=None if spec.soft_cap is None else _capped(spec.soft_cap),
            block_mask=group.mask,
            scale=spec.scale * key_scale,
            enable_gqa=spec.num_heads != spec.num_kv_heads,
            return_aux=AuxRequest(lse=sinks is not None),
        )
        if sinks is not None:  # a logit more in the denominator: e^lse / (e^lse + e^sink)
            found = found * torch.sigmoid(aux.lse - sinks[:, None].to(aux.lse))[..., None]
        if spec.cache_form:
            found = found * value_scale
        return found.transpose(1, 2).to(query.dtype)  # type: ignore[no-any-return]

    def _gathered(self, part: Tensor, slots: Tensor, dtype: torch.dtype) -> Tensor:
        """[requests, kv_heads, keys, head_size], elements as they are stored, which fit every dtype."""
        rows = part.flatten(0, 1)[slots]
        if self.spec.cache_form:
            rows = rows.view(torch.float8_e4m3fn)
        return rows.to(dtype).transpose(1, 2)

    def _is_compiled(self, device: torch.device) -> bool:
        wanted = self.settings["compile"]
        return device.type != "cpu" if wanted == "auto" else wanted == "on"


def _capped(cap: float) -> Any:
    def capped(score: Tensor, _row: Tensor, _head: Tensor, _query: Tensor, _key: Tensor) -> Tensor:
        return cap * torch.tanh(score / cap)

    return capped
