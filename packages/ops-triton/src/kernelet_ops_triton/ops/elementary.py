"""Elementary ops; signatures in ``kernelet.layers.ops``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from triton import cdiv

from kernelet.layers import elementary
from kernelet_device_triton.launching import target_for
from kernelet_ops_triton import configurations
from kernelet_ops_triton.device import activations
from kernelet_ops_triton.device.norms import norm
from kernelet_ops_triton.device.rotary import rotate
from kernelet_ops_triton.rows import vectors_of

if TYPE_CHECKING:
    from kernelet.layers.rotary import RopeRows

KINDS: Mapping[str, int] = MappingProxyType(
    {
        "silu": activations.SILU.value,
        "gelu": activations.GELU.value,
        "gelu_tanh": activations.GELU_TANH.value,
        "relu": activations.RELU.value,
        "relu2": activations.RELU2.value,
        "quick_gelu": activations.QUICK_GELU.value,
    }
)
"""Activations by name."""


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """[..., n] -> the same; sums in float32."""
    return _norm(x, weight, None, eps, centered=False)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """[..., n] -> the same; sums in float32."""
    return _norm(x, weight, bias, eps, centered=True)


def _norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float, *, centered: bool) -> Tensor:
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rows = vectors_of(x)
    if not rows.number:
        return out
    size = x.shape[-1]
    tile = configurations.whole_rows(target_for(x.device), size)
    norm[cdiv(rows.number, tile.block_m),](
        rows.tensor,
        weight,
        weight if bias is None else bias,
        out,
        rows.number,
        rows.inner,
        rows.outer_stride,
        rows.inner_stride,
        eps,
        size=size,
        centered=centered,
        has_bias=bias is not None,
        num_warps=tile.num_warps,
        **tile.blocks,
    )
    return out


def rotary(x: Tensor, rope: RopeRows) -> Tensor:
    """[tokens, heads, size] -> the same, in memory of its own."""
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rows = vectors_of(x)
    if not rows.number:
        return out
    heads, size = x.shape[1:]
    outer, inner = (heads * size, size) if rows.tensor.is_contiguous() else (rows.outer_stride, rows.inner_stride)
    tile = configurations.whole_rows(target_for(x.device), size)
    rotate[cdiv(rows.number, tile.block_m),](
        rows.tensor,
        rope.cos.contiguous(),
        rope.sin.contiguous(),
        out,
        rows.number,
        heads,
        outer,
        inner,
        size=size,
        rotary_size=rope.cos.shape[-1],
        interleaved=rope.interleaved,
        num_warps=tile.num_warps,
        **tile.blocks,
    )
    return out


def activation(x: Tensor, name: str) -> Tensor:
    """[..., n] -> the same."""
    if name not in KINDS:
        return elementary.activation(x, name)
    return _activate(x, x.shape[-1], name, gated=False)


def act_and_mul(x: Tensor, name: str) -> Tensor:
    """[..., 2 n] -> [..., n]; rounded once."""
    if name not in KINDS:
        return elementary.act_and_mul(x, name)
    return _activate(x, x.shape[-1] // 2, name, gated=True)


def _activate(x: Tensor, size: int, name: str, *, gated: bool) -> Tensor:
    out = torch.empty((*x.shape[:-1], size), dtype=x.dtype, device=x.device)
    rows = vectors_of(x.flatten(0, -2))
    if not rows.number:
        return out
    tile = configurations.parts_of_rows(target_for(x.device), size)
    activations.activate[cdiv(rows.number, tile.block_m), cdiv(size, tile.block_n)](
        rows.tensor,
        out,
        rows.number,
        rows.outer_stride,
        size=size,
        kind=KINDS[name],
        gated=gated,
        num_warps=tile.num_warps,
        **tile.blocks,
    )
    return out
