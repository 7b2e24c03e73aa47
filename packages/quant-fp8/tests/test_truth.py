"""`transformers` makes the same weights of the same tensors."""

from __future__ import annotations

from importlib import import_module

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.quant import QuantOffer
from kernelet.testing.offered import find_offer
from kernelet.testing.quantization.layers import layer_of, weight_of
from kernelet.testing.quantization.methods import method_of
from kernelet.testing.weight_kernel.reference import dequantize
from kernelet_quant_fp8.rounding import round_weight

OFFERED = find_offer("kernelet_quant_fp8.plugin", QuantOffer, "fp8")


def method(block):
    config = {"quant_method": "fp8", "weight_block_size": block}
    return method_of(OFFERED, config)


def theirs(weight, scales, block):
    module = import_module("transformers.integrations.finegrained_fp8")  # takes seconds
    return module._dequantize_fp8_weight(weight, scales, block, torch.float32)


@given(
    shape=st.tuples(st.integers(1, 300), st.integers(1, 300)),
    block=st.sampled_from([None, [128, 128], [64, 128], [16, 32], [1, 128]]),
    exponents=st.booleans(),
    seed=st.integers(0, 999),
)
@settings(max_examples=80, deadline=None)
def test_weights_are_theirs(shape, block, exponents, seed):
    """Of random numbers and scales, and of what the writer of this package makes of a weight."""
    generator = torch.Generator().manual_seed(seed)
    numbers, scales = round_weight(weight_of(shape, seed), tuple(block or (0, 0)))
    anything = torch.randint(0, 0x7F, shape, generator=generator, dtype=torch.uint8).view(torch.float8_e4m3fn)
    powers = torch.randint(100, 140, scales.shape, generator=generator, dtype=torch.uint8)
    made, layer = method(block), layer_of("model.layers.0.mlp.up_proj", shape)
    for weight in (numbers, anything):
        factors = powers.view(torch.float8_e8m0fnu) if exponents else scales
        stored = {"weight": weight, "weight_scale_inv": factors if block else factors.reshape(())}
        exact = dequantize(made.canonical(layer, stored), made.scheme(layer))
        assert torch.equal(exact.float(), theirs(weight, stored["weight_scale_inv"], block))
