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
    mask: Tensor,
    soft_cap: float | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """Attention of several queries a head, with keys shared by the heads of a group.

    All in one dtype, that of scores. Each product is of the same size whatever the number of spans, and sums over spans
    are made afterwards: matrix kernels choose their order of sums by sizes.

    Args:
        query: [kv_heads, group, queries, size].
        key: [spans, kv_heads, keys, size], contiguous.
        value: The same.
        scale: Factor of the scores.
        mask: [queries, last spans, keys], added to the scores of as many last spans.
        soft_cap: See ``AttentionSpec``.
        sinks: [kv_heads, group], a logit more in each denominator.

    Returns:
        [kv_heads, group, queries, size].
    """
    spans, kv_heads, keys, size = key.shape
    _, group, queries, _ = query.shape
    rows = (query * scale).view(1, kv_heads, group * queries, size).expand(spans, -1, -1, -1)
    scores = torch.bmm(rows.reshape(-1, group * queries, size), key.flatten(0, 1).transpose(1, 2))
    scores = scores.view(spans, kv_heads, group, queries, keys).permute(1, 2, 3, 0, 4).contiguous()
    if soft_cap is not None:
        scores = scores.div_(soft_cap).tanh_().mul_(soft_cap)
    scores[..., spans - mask.shape[1] :, :] += mask
    flat = scores.view(kv_heads, group, queries, spans * keys)
    if sinks is None:
        weights = flat.softmax(-1)
    else:
        column = sinks.to(scores.dtype).view(kv_heads, group, 1, 1).expand(-1, -1, queries, -1)
        weights = torch.cat([flat, column], -1).softmax(-1)[..., :-1]
    weights = weights.reshape(kv_heads, group * queries, spans, keys).permute(2, 0, 1, 3)
    parts = torch.bmm(weights.reshape(-1, group * queries, keys), value.flatten(0, 1))
    return parts.view(spans, kv_heads, group, queries, size).sum(0)
