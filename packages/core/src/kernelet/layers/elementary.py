"""Elementary ops in plain torch; signatures in ``kernelet.layers.ops``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from kernelet.layers.activation import ACTIVATIONS
from kernelet.layers.dtypes import wide

if TYPE_CHECKING:
    from kernelet.layers.rotary import RopeRows


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Root mean square norm (Zhang and Sennrich 2019). ``weight`` is in the wide dtype of ``x``."""
    y = x.to(wide(x.dtype))
    scale = torch.rsqrt(y.square().mean(-1, keepdim=True).add_(eps))
    return (y * scale).mul_(weight).to(x.dtype)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """Layer norm (Ba et al. 2016). ``weight`` and ``bias`` are in the wide dtype of ``x``."""
    return functional.layer_norm(x.to(wide(x.dtype)), weight.shape, weight, bias, eps).to(x.dtype)


def rotary(x: Tensor, rope: RopeRows) -> Tensor:
    """Rotary position embedding (Su et al. 2021) of the first ``rope.cos.shape[-1]`` elements of each head.

    Works in place. Rows of cos and sin are in the wide dtype of ``x``, as wide as the rotated part; sin has the sign.
    """
    size = rope.cos.shape[-1]
    part = x if size == x.shape[-1] else x[..., :size]
    swapped = _swap_neighbours(part) if rope.interleaved else part.roll(size // 2, -1)
    part.copy_(torch.addcmul(part * rope.cos, swapped.to(rope.sin.dtype), rope.sin))
    return x


def _swap_neighbours(x: Tensor) -> Tensor:
    return x.reshape(*x.shape[:-1], x.shape[-1] // 2, 2).flip(-1).view(x.shape)


def activation(x: Tensor, name: str) -> Tensor:
    """An activation by name."""
    return ACTIVATIONS[name](x)


def act_and_mul(x: Tensor, name: str) -> Tensor:
    """Gate: activation of the first half of each row times its second half."""
    gate, up = x.chunk(2, -1)
    return ACTIVATIONS[name](gate).mul_(up)


def add(x: Tensor, y: Tensor, scale: float) -> Tensor:
    """``x + scale * y``."""
    return torch.add(x, y, alpha=scale)
