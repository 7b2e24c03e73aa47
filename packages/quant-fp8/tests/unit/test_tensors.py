from __future__ import annotations

import re

import pytest
import torch

from kernelet.errors import WeightsError
from kernelet.testing.quantization.layers import layer_of
from kernelet_quant_fp8.tensors import input_scale, scales_of, weight_of

LAYER = layer_of("model.layers.0.mlp.up_proj", (4, 64))
BYTES = torch.arange(256, dtype=torch.uint8).view(4, 64)
NANS = {torch.float8_e4m3fn: (0x7F, 0xFF), torch.float8_e4m3fnuz: (0x80,)}


def every(dtype, without=()):
    """All values of a type but NaN; ``without`` is replaced by zeros."""
    found = BYTES.clone()
    for byte in (*NANS[dtype], *without):
        found[found == byte] = 0
    return found.view(dtype)


def test_the_weight_is_taken_as_it_is():
    given = every(torch.float8_e4m3fn)
    weight, factor = weight_of(LAYER, {"weight": given})
    assert (weight.data_ptr(), factor) == (given.data_ptr(), 1.0)


@pytest.mark.parametrize("without", [(0x7F, 0xFF), tuple(value for value in range(256) if value & 0x71 == 1)])
def test_the_other_kind_of_zero_is_converted_exactly(without):
    """Without the largest numbers, or without those that end in half of the smallest."""
    given = every(torch.float8_e4m3fnuz, without)
    weight, factor = weight_of(LAYER, {"weight": given})
    assert weight.dtype is torch.float8_e4m3fn
    assert torch.equal(weight.float() * factor, given.float())


def test_what_cannot_be_converted_is_refused():
    with pytest.raises(WeightsError, match=r"up_proj: weight is torch.float8_e4m3fnuz, and its largest and smallest"):
        weight_of(LAYER, {"weight": every(torch.float8_e4m3fnuz)})


@pytest.mark.parametrize(
    "weight, message",
    [
        (None, "weight is missing"),
        (BYTES.view(torch.float8_e4m3fn), "values that are no numbers"),
        (BYTES.view(torch.float8_e4m3fnuz), "values that are no numbers"),
        (BYTES.view(torch.float8_e5m2), "weight is torch.float8_e5m2"),
        (torch.zeros(4, 64), "weight is torch.float32 [4, 64], expected torch.float8_e4m3fn [4, 64]"),
        (torch.zeros(4, 63).to(torch.float8_e4m3fn), "weight is torch.float8_e4m3fn [4, 63]"),
    ],
)
def test_a_damaged_weight_is_named(weight, message):
    with pytest.raises(WeightsError, match=rf"model\.layers\.0\.mlp\.up_proj: .*{re.escape(message)}"):
        weight_of(LAYER, {} if weight is None else {"weight": weight})


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (4,), (4, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_scales_of_a_tensor_and_of_outputs(shape, dtype):
    given = (torch.rand(shape) + 0.1).to(dtype)
    found = scales_of(LAYER, {"weight_scale": given}, None)
    assert (found.shape, found.dtype) == ((4, 1), torch.float32)
    assert torch.equal(found, given.float().reshape(-1, 1).expand(4, 1))


@pytest.mark.parametrize("name", ["weight_scale", "weight_scale_inv"])
def test_scales_of_blocks(name):
    given = torch.rand(2, 5) + 0.1
    layer = layer_of("x", (130, 513))
    assert torch.equal(scales_of(layer, {name: given}, (128, 128)), given)


def test_exponents_are_scales():
    exponents = torch.tensor([[120], [127], [130], [1]], dtype=torch.uint8)
    wanted = torch.tensor([[2.0**-7], [1.0], [8.0], [2.0**-126]])
    for given in (exponents, exponents.view(torch.float8_e8m0fnu)):
        assert torch.equal(scales_of(LAYER, {"weight_scale_inv": given}, None), wanted)


@pytest.mark.parametrize(
    "stored, block, message",
    [
        ({}, None, "the checkpoint has no weight_scale, expected one scale"),
        (
            {"weight_scale": torch.ones(1), "weight_scale_inv": torch.ones(1)},
            None,
            "has weight_scale and weight_scale_inv",
        ),
        ({"weight_scale": torch.ones(3)}, None, "weight_scale is torch.float32 [3]"),
        ({"weight_scale": torch.ones(1)}, (128, 128), "expected floats [1, 1]"),
        ({"weight_scale_inv": torch.ones(1, 1)}, (2, 64), "expected floats [2, 1]"),
        ({"weight_scale": torch.ones(1, dtype=torch.int8)}, None, "weight_scale is torch.int8"),
        ({"weight_scale": torch.tensor(torch.nan)}, None, "weight_scale has values that are infinite or no numbers"),
        ({"weight_scale": torch.tensor(255, dtype=torch.uint8)}, None, "weight_scale has values that are infinite"),
    ],
)
def test_damaged_scales_are_named(stored, block, message):
    with pytest.raises(WeightsError, match=rf"model\.layers\.0\.mlp\.up_proj: .*{re.escape(message)}"):
        scales_of(LAYER, stored, block)


def test_a_scale_of_inputs():
    for name, given in (("input_scale", torch.tensor([0.5])), ("activation_scale", torch.tensor(0.5).bfloat16())):
        found = input_scale(LAYER, {name: given})
        assert (found.shape, found.dtype, float(found)) == ((), torch.float32, 0.5)


@pytest.mark.parametrize("given", [None, 0.0, -1.0, torch.nan, torch.inf, (1.0, 1.0)])
def test_a_damaged_scale_of_inputs_is_named(given):
    with pytest.raises(WeightsError, match=r"up_proj: .*input_scale"):
        input_scale(LAYER, {} if given is None else {"input_scale": torch.tensor(given)})
