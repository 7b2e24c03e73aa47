"""Attention written out: scores, soft cap, mask, softmax with sinks, weighted sum."""

from __future__ import annotations

import torch
from torch import Tensor


def wide(dtype: torch.dtype) -> torch.dtype:
    """Dtype of scores: float32 for 16-bit types, else the dtype itself."""
    return torch.float32 if dtype.itemsize < 4 else dtype


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    scale: float,
    mask: Tensor | None = None,
    soft_cap: float | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """Attention of several queries a head, with keys shared by the heads of a group.

    Scores and softmax are in the wide dtype; bfloat16 probabilities are rounded for the weighted sum, as fused kernels
    do. (Two batched products beat torch's fused kernel here: by a third for prompts, more for decoding.)

    Args:
        query: [batch, kv_heads, group, queries, size].
        key: [batch * kv_heads, keys, size], in the wide dtype.
        value: The same, in the query's dtype.
        scale: Factor of the scores.
        mask: Added to the last scores [batch, kv_heads, group, queries, as many keys], broadcast; wide dtype.
        soft_cap: See ``AttentionSpec``.
        sinks: [kv_heads, group], a logit more in each denominator.

    Returns:
        [batch, kv_heads, group, queries, size] in the query's dtype.
    """
    dtype = query.dtype
    batch, kv_heads, group, queries, size = query.shape
    flat = query.reshape(batch * kv_heads, group * queries, size).to(key.dtype) * scale
    scores = torch.bmm(flat, key.transpose(1, 2)).view(batch, kv_heads, group, queries, -1)
    if soft_cap is not None:
        scores = scores.div_(soft_cap).tanh_().mul_(soft_cap)
    if mask is not None:
        scores[..., scores.shape[-1] - mask.shape[-1] :] += mask
    if sinks is None:
        weights = scores.softmax(-1)
    else:
        column = sinks.to(scores.dtype).view(1, kv_heads, group, 1, 1).expand(batch, -1, -1, queries, -1)
        weights = torch.cat([scores, column], -1).softmax(-1)[..., :-1]
    weights = weights.reshape(batch * kv_heads, group * queries, -1)
    if dtype is torch.bfloat16:
        return torch.bmm(weights.to(dtype), value).view(query.shape)
    return torch.bmm(weights, value.to(weights.dtype)).to(dtype).view(query.shape)
