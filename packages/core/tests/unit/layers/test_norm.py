from __future__ import annotations

import pytest
import torch

from kernelet.layers.norm import LayerNorm, RMSNorm
from kernelet.layers.weights import Shard
from kernelet.testing.tensors import make_context


def test_offset_is_part_of_the_weight_and_wide():
    norm = RMSNorm(make_context(dtype=torch.bfloat16), "norm", Shard.whole(4), 1e-6, offset=1.0)
    stored = torch.tensor([0.001, -0.002, 0.5, 0.0])
    norm.source.write("norm", stored)
    norm.finish()
    assert norm.weight.dtype == torch.float32
    assert torch.equal(norm.weight, stored.bfloat16().float() + 1)
    assert norm.kind == "rms"


@pytest.mark.parametrize("bias", [True, False])
def test_layer_norm_has_a_bias_or_none(bias):
    norm = LayerNorm(make_context(), "norm", Shard.whole(3), 1e-6, bias=bias)
    assert [weight.name for weight in norm.weights()] == ["norm.weight", "norm.bias"][: 1 + bias]
    for weight in norm.weights():
        weight.write("x", torch.tensor([1.0, 2.0, 3.0]))
    norm.finish()
    x = torch.tensor([[1.0, 2.0, 3.0]])
    expected = torch.tensor([[-1.2247, 0.0, 3.6742]]) + (x if bias else 0)
    torch.testing.assert_close(norm.forward(x), expected, atol=1e-3, rtol=0)
    assert norm.kind == "layer"


def test_shape_is_kept():
    norm = RMSNorm(make_context(), "norm", Shard.whole(4), 1e-6)
    norm.source.write("x", torch.ones(4))
    norm.finish()
    assert norm.forward(torch.randn(2, 3, 4)).shape == (2, 3, 4)


@pytest.mark.parametrize("kind", [RMSNorm, LayerNorm])
def test_a_wide_residual_comes_out_in_the_models_dtype(kind):
    norm = kind(make_context(dtype=torch.bfloat16), "norm", Shard.whole(4), 1e-6)
    norm.source.write("x", torch.ones(4))
    norm.finish()
    residual = torch.tensor([[1.0, 1.0 + 2**-12, 1.0 - 2**-12, 1.0 + 2**-11]]) * 512
    assert norm.forward(residual).dtype == torch.bfloat16
    if kind is LayerNorm:
        rounded = norm.forward(residual.bfloat16())
        assert (norm.forward(residual) - rounded).abs().max() > 0.5, "the residual was rounded before the norm"
