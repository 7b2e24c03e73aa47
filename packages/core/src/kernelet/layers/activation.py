"""Activations by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
import torch.nn.functional as F
from torch import Tensor


def _gelu_tanh(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


def _relu2(x: Tensor) -> Tensor:
    return F.relu(x).square()


def _quick_gelu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = MappingProxyType(
    {
        "silu": F.silu,
        "gelu": F.gelu,
        "gelu_tanh": _gelu_tanh,
        "relu": F.relu,
        "relu2": _relu2,
        "quick_gelu": _quick_gelu,
    }
)
"""Elementwise functions: ``gelu`` is the exact one, ``gelu_tanh`` its usual approximation, ``relu2`` the square of ``relu``."""
