"""Composite ops below a layer; signatures in ``kernelet.layers.ops``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kernelet.layers.norm import LayerNorm, Norm, RMSNorm
from kernelet_platform_cpu.linear.packed import number_of
from kernelet_platform_cpu.native import required
from kernelet_platform_cpu.ops import elementary
from kernelet_platform_cpu.ops.elementary import LAYER, RMS
from kernelet_platform_cpu.ops.rows import address, is_wide_of

if TYPE_CHECKING:
    from kernelet.contracts.attention import Attention
    from kernelet.layers.attention import QKVHeads
    from kernelet.layers.rotary import RopeRows


def norm_kind(norm: Norm) -> int | None:
    """What the kernels call a norm; None: they do not know it."""
    return {RMSNorm: RMS, LayerNorm: LAYER}.get(type(norm))


def add_norm(residual: Tensor, x: Tensor, scale: float, norm: Norm) -> tuple[Tensor, Tensor]:
    """The norm of ``residual + scale * x`` in the model's dtype, and the sum in the residual's."""
    kind = norm_kind(norm)
    if kind is None or x.dtype is not norm.dtype or not is_wide_of(residual, x) or residual.shape != x.shape:
        total = elementary.add(residual, x, scale)
        return norm.forward(total), total
    residual, x = residual.contiguous(), x.contiguous()
    total, normed = torch.empty_like(residual), torch.empty_like(x)
    size = x.shape[-1]
    required().add_norm(
        kind,
        residual.data_ptr(),
        x.data_ptr(),
        total.data_ptr(),
        normed.data_ptr(),
        x.numel() // max(size, 1),
        size,
        scale,
        norm.weight.data_ptr(),
        address(norm.bias),
        norm.eps,
        number_of(x.dtype),
    )
    return normed, total


def qkv_rope_write(
    qkv: Tensor, heads: QKVHeads, rope: RopeRows | None, attention: Attention, cache: Any, metadata: Any
) -> Tensor:
    """Norms and rotation in place in ``qkv``, then keys and values go to the cache."""
    qkv = qkv.contiguous() if heads.clip is None else qkv.clamp(-heads.clip, heads.clip)
    both, size = heads.num_heads + heads.num_kv_heads, heads.head_size
    split = qkv.view(-1, both + heads.num_kv_heads, size)
    query, key, value = split[:, : heads.num_heads], split[:, heads.num_heads : both], split[:, both:]
    if heads.q_norm is None or heads.k_norm is None:
        if rope is not None:
            elementary.rotary(split[:, :both], rope)
    elif heads.whole or norm_kind(heads.q_norm) != RMS or norm_kind(heads.k_norm) != RMS:
        query, key = _normed(query, heads.q_norm, whole=heads.whole), _normed(key, heads.k_norm, whole=heads.whole)
        if rope is not None:
            query, key = elementary.rotary(query, rope), elementary.rotary(key, rope)
    else:
        elementary.rotate(query, rope, heads.q_norm.weight, heads.q_norm.eps)
        elementary.rotate(key, rope, heads.k_norm.weight, heads.k_norm.eps)
    attention.write_kv(key, value, cache, metadata)
    return query


def _normed(x: Tensor, norm: Norm, *, whole: bool) -> Tensor:
    return norm.forward(x.flatten(1) if whole else x).view(x.shape)
