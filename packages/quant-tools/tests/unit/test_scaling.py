from __future__ import annotations

import pytest
import torch
from torch import nn
from transformers.models.gemma2.modeling_gemma2 import Gemma2RMSNorm
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from kernelet_quant_tools.scaling import divide, is_norm, multiply, offset_of


def norm(kind):
    made = {"llama": LlamaRMSNorm, "gemma": Gemma2RMSNorm, "layer": nn.LayerNorm}[kind](6)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(6, generator=torch.Generator().manual_seed(3)))
    return made.requires_grad_(False)


@pytest.mark.parametrize("kind, offset", [("llama", 0.0), ("gemma", 1.0), ("layer", 0.0)])
def test_norms(kind, offset):
    one = norm(kind)
    x, factors = torch.randn(4, 6), torch.rand(6) + 0.5
    before, weight = one(x), one.weight.clone()
    assert is_norm(one)
    assert offset_of(one) == offset
    assert torch.equal(one.weight, weight)
    divide(one, factors)
    assert torch.allclose(one(x), before / factors, atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
def test_linear_modules(bias):
    first, second = nn.Linear(5, 6, bias=bias), nn.Linear(6, 3)
    x, factors = torch.randn(4, 5), torch.rand(6) + 0.5
    before = second(first(x))
    made = first(x)
    divide(first, factors)
    multiply([second], factors)
    assert torch.allclose(first(x), made / factors, atol=1e-5)
    assert torch.allclose(second(first(x)), before, atol=1e-5)


def test_what_is_no_norm():
    assert not any(map(is_norm, (nn.Linear(3, 3), nn.Embedding(3, 3), nn.GELU(), nn.Sequential(nn.LayerNorm(3)))))
