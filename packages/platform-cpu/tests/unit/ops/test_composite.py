"""Composite ops have the bits of the ops that they replace."""

from __future__ import annotations

import pytest
import torch

from kernelet.layers.norm import LayerNorm, RMSNorm
from kernelet.layers.weights import Shard
from kernelet_platform_cpu.ops import composite, elementary

DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64]


def drawn(*shape, dtype):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def norm_of(kind, context, size):
    norm = kind(context, "norm", Shard.whole(size), 1e-5, bias=kind is LayerNorm)
    for weight in norm.weights():
        weight.write("drawn", drawn(size, dtype=torch.float32) * 0.2 + 1)
    norm.finish()
    return norm


@pytest.mark.parametrize("kind", [RMSNorm, LayerNorm])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_add_norm_is_a_sum_and_its_norm(context, kind, dtype, scale):
    norm = norm_of(kind, context(dtype), 37)
    x = drawn(70, 37, dtype=dtype)
    residual = drawn(70, 37, dtype=norm.weight.dtype)
    normed, total = composite.add_norm(residual, x, scale, norm)
    expected = elementary.add(residual, x, scale)
    assert torch.equal(total, expected)
    assert torch.equal(normed, norm.forward(expected))
    assert normed.dtype is dtype


def test_a_norm_of_another_kind_computes_itself(context):
    class Doubled(RMSNorm):
        def forward(self, x):
            return 2 * super().forward(x)

    norm = norm_of(Doubled, context(torch.float32), 8)
    x = drawn(3, 8, dtype=torch.float32)
    normed, total = composite.add_norm(x, x, 1.0, norm)
    assert torch.equal(normed, norm.forward(total))
    assert composite.norm_kind(norm) is None
