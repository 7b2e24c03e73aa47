from __future__ import annotations

import math

import pytest
import torch

from kernelet.layers.activation import ACTIVATIONS


def erf_gelu(x):
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


EXPECTED = {
    "silu": lambda x: x / (1 + math.exp(-x)),
    "gelu": erf_gelu,
    "gelu_tanh": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: max(x, 0.0),
    "relu2": lambda x: max(x, 0.0) ** 2,
    "quick_gelu": lambda x: x / (1 + math.exp(-1.702 * x)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_is_its_formula(name):
    x = torch.linspace(-4, 4, 41, dtype=torch.float64)
    expected = torch.tensor([EXPECTED[name](value) for value in x.tolist()], dtype=torch.float64)
    torch.testing.assert_close(ACTIVATIONS[name](x), expected, rtol=1e-12, atol=1e-12)
