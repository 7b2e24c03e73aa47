"""Composite ops; signatures in ``kernelet.layers.ops``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from triton import cdiv

from kernelet.layers import elementary
from kernelet.layers.norm import LayerNorm, RMSNorm
from kernelet_device_triton.launching import target_for
from kernelet_ops_triton import configurations
from kernelet_ops_triton.device import norms
from kernelet_ops_triton.rows import rows_of

if TYPE_CHECKING:
    from kernelet.layers.norm import Norm


def add_norm(residual: Tensor, x: Tensor, scale: float, norm: Norm) -> tuple[Tensor, Tensor]:
    """The norm of ``residual + scale * x`` in the model's dtype, and the sum in the residual's."""
    known = type(norm) in {RMSNorm, LayerNorm}
    if not known or x.dtype is not norm.dtype or residual.dtype is not torch.float32 or residual.shape != x.shape:
        total = elementary.add(residual, x, scale)
        return norm.forward(total), total
    size = x.shape[-1]
    residual, x = rows_of(residual.flatten(0, -2)), rows_of(x.flatten(0, -2))
    total = torch.empty(residual.shape, dtype=residual.dtype, device=x.device)
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if not len(x):
        return out, total
    tile = configurations.whole_rows(target_for(x.device), size)
    norms.add_norm[cdiv(len(x), tile.block_m),](
        residual,
        x,
        norm.weight,
        norm.weight if norm.bias is None else norm.bias,
        total,
        out,
        len(x),
        residual.stride(0),
        x.stride(0),
        scale,
        norm.eps,
        size=size,
        centered=type(norm) is LayerNorm,
        has_bias=norm.bias is not None,
        num_warps=tile.num_warps,
        **tile.blocks,
    )
    return out, total
