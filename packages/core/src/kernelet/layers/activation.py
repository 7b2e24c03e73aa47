"""Activations by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor
from torch.nn import functional


def _gelu_tanh(x: Tensor) -> Tensor:
    return functional.gelu(x, approximate="tanh")


def _relu2(x: Tensor) -> Tensor:
    return functional.relu(x).square()


def _quick_gelu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = MappingProxyType(
    {
        "silu": functional.silu,
        "gelu": functional.gelu,
        "gelu_tanh": _gelu_tanh,
        "relu": functional.relu,
        "relu2": _relu2,
        "quick_gelu": _quick_gelu,
    }
)
"""Elementwise functions: ``gelu`` is exact, ``gelu_tanh`` its usual approximation, ``relu2`` the square of ``relu``."""
