"""Elementary ops; signatures in ``kernelet.layers.ops``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from kernelet.layers import elementary
from kernelet_platform_cpu.linear.packed import number_of
from kernelet_platform_cpu.native import required
from kernelet_platform_cpu.ops.rows import address, is_wide_of, rows_of

if TYPE_CHECKING:
    from kernelet.layers.rotary import RopeRows

RMS, LAYER = 0, 1
"""Kinds of norm, as the extension calls them."""

ACTIVATIONS = ("silu", "gelu", "gelu_tanh", "relu", "relu2", "quick_gelu")
"""In the order of the enum in native/kernels/elementwise.h."""


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """[..., n] -> the same; sums in the wide dtype."""
    if not is_wide_of(weight, x):
        return elementary.rms_norm(x, weight, eps)
    return _norm(RMS, x, weight, None, eps)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """[..., n] -> the same; sums in the wide dtype."""
    if not is_wide_of(weight, x):
        return elementary.layer_norm(x, weight, bias, eps)
    return _norm(LAYER, x, weight, bias, eps)


def _norm(kind: int, x: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    rows = rows_of(x)
    weight, bias = weight.contiguous(), None if bias is None else bias.contiguous()
    out = torch.empty(x.shape, dtype=x.dtype)
    required().norm(
        kind,
        rows.address,
        rows.stride,
        out.data_ptr(),
        rows.length,
        x.shape[-1],
        weight.data_ptr(),
        address(bias),
        eps,
        number_of(x.dtype),
        False,
    )
    return out


def rotary(x: Tensor, rope: RopeRows) -> Tensor:
    """[tokens, heads, size], in place where a head's elements lie side by side."""
    if not is_wide_of(rope.cos, x):
        return elementary.rotary(x, rope)
    x = x if x.stride(-1) == 1 else x.contiguous()
    rotate(x, rope)
    return x


def rotate(x: Tensor, rope: RopeRows | None, weight: Tensor | None = None, eps: float = 0.0) -> None:
    """Norm of each head where there is a weight, then rotation; in place.

    Args:
        x: [tokens, heads, size]; a head's elements lie side by side.
        rope: Rows of the rotation.
        weight: [size], in the wide dtype.
        eps: Of the norm.
    """
    tokens, heads, size = x.shape
    cos, sin, stride = (None, None, 0) if rope is None else rotation_of(rope)
    required().heads(
        x.data_ptr(),
        x.stride(0),
        x.stride(1),
        tokens,
        heads,
        size,
        address(weight),
        eps,
        address(cos),
        address(sin),
        stride,
        0 if cos is None else cos.shape[-1],
        rope is not None and rope.interleaved,
        number_of(x.dtype),
    )


def rotation_of(rope: RopeRows) -> tuple[Tensor, Tensor, int]:
    """Cosines and sines, elements of a row side by side, and the elements between two rows."""
    cos, sin = rope.cos, rope.sin
    if cos.stride(-1) != 1 or cos.stride() != sin.stride():
        cos, sin = cos.contiguous(), sin.contiguous()
    return cos, sin, cos.stride(0)


def activation(x: Tensor, name: str) -> Tensor:
    """[..., n] -> the same."""
    if name not in ACTIVATIONS:
        return elementary.activation(x, name)
    return _activate(x, x.shape[-1], name, gated=False)


def act_and_mul(x: Tensor, name: str) -> Tensor:
    """[..., 2 n] -> [..., n]; rounded once."""
    if name not in ACTIVATIONS:
        return elementary.act_and_mul(x, name)
    return _activate(x, x.shape[-1] // 2, name, gated=True)


def _activate(x: Tensor, size: int, name: str, *, gated: bool) -> Tensor:
    rows = rows_of(x)
    out = torch.empty((*x.shape[:-1], size), dtype=x.dtype)
    kind = ACTIVATIONS.index(name)
    required().activate(rows.address, rows.stride, out.data_ptr(), rows.length, size, kind, gated, number_of(x.dtype))
    return out


def add(x: Tensor, y: Tensor, scale: float) -> Tensor:
    """``x + scale * y`` in the dtype of x, which may be the wide one of y."""
    to_wide = x.dtype is not y.dtype
    if x.shape != y.shape or (to_wide and not is_wide_of(x, y)):
        return elementary.add(x, y, scale)
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    required().add(x.data_ptr(), y.data_ptr(), out.data_ptr(), x.numel(), scale, number_of(y.dtype), to_wide)
    return out
