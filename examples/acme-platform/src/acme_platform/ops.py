"""Overrides of ops: one written in C++, one as a custom op of torch."""

from __future__ import annotations

import torch
from torch import Tensor

from acme_platform.native import load_act_and_mul
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import Op


class ActAndMul(Op):
    """Activation of the first half of each row times its second half."""

    def __init__(self, settings: Settings) -> None:
        """Loads the library.

        Raises:
            PluginError: it is not there, or does not fit this torch.
        """
        super().__init__(settings)
        self._compute = load_act_and_mul()

    def __call__(self, x: Tensor, name: str) -> Tensor:
        """[rows, 2 n] -> [rows, n]."""
        return self._compute(x, name)


@torch.library.custom_op(
    "acme_platform::rms_norm", mutates_args=(), schema="(Tensor x, Tensor weight, float eps) -> Tensor"
)
def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """[rows, n]; the weight is in the wide dtype of ``x`` and holds any offset already."""
    y = x.to(weight.dtype)
    mean_square = y.pow(2).mean(-1, keepdim=True)
    return (y * torch.rsqrt(mean_square + eps) * weight).to(x.dtype)


@rms_norm.register_fake
def rms_norm_shape(x: Tensor, _weight: Tensor, _eps: float) -> Tensor:
    """What torch's compiler is told: the result is like ``x``."""
    return torch.empty_like(x)
