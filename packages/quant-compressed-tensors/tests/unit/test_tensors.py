from __future__ import annotations

import re

import pytest
import torch

from kernelet.errors import WeightsError
from kernelet.testing.quantization.layers import layer_of, weight_of
from kernelet_quant_compressed_tensors.configuration import form_of, read
from kernelet_quant_compressed_tensors.conformance import configured
from kernelet_quant_compressed_tensors.rounding import round_weight, stored
from kernelet_quant_compressed_tensors.tensors import canonical

INT4 = {"num_bits": 4, "strategy": "group", "group_size": 16}
STATIC = {"num_bits": 8, "strategy": "tensor"}
LAYER = layer_of("model.layers.0.mlp.up_proj", (6, 48))


def made(said, weights, inputs=None):
    """A form, the tensors of a random weight in it, and the float64 weight that they stand for."""
    config = read(configured(said, weights, inputs))
    form = form_of("group_0", config.config_groups["group_0"], said, round_inputs=True)
    rounded = round_weight(weight_of(LAYER.shape, 7) + 0.05, form)
    return form, stored(rounded, form), rounded.exact


def dequantized(found, block):
    rows, columns = LAYER.shape
    spread = {
        name: found[name]
        .double()
        .repeat_interleave(block[0] or rows, 0)[:rows]
        .repeat_interleave(block[1] or columns, 1)
        for name in ("scales", "zero_points")
        if name in found
    }
    return (found["weight"].double() - spread.get("zero_points", 0)) * spread["scales"]


def test_act_order_is_a_permutation():
    form, tensors, exact = made("pack-quantized", INT4 | {"actorder": "group"})
    order = torch.randperm(48, generator=torch.Generator().manual_seed(1))
    group = torch.empty(48, dtype=torch.int32)
    group[order] = torch.arange(48, dtype=torch.int32) // 16
    found = canonical(LAYER, form, {**tensors, "weight_g_idx": group})
    # the rule of the format: column j of the stored weight has the scale of its group
    whole = canonical(LAYER, made("pack-quantized", INT4)[0], tensors)["weight"].double()
    wanted = whole * tensors["weight_scale"].double()[:, group.long()]
    assert not torch.equal(wanted, exact)
    given = dequantized(found, (1, 16))
    inputs = torch.randn(3, 48, dtype=torch.float64)
    moved = inputs[:, found["permutation"].long()]
    assert found["permutation"].dtype is torch.int32
    torch.testing.assert_close(moved @ given.T, inputs @ wanted.T)


def test_columns_that_are_in_order():
    form, tensors, exact = made("pack-quantized", INT4)
    sequence = torch.arange(48, dtype=torch.int32) // 16
    for given in (sequence, torch.full((48,), -1, dtype=torch.int32)):
        found = canonical(LAYER, form, {**tensors, "weight_g_idx": given})
        assert "permutation" not in found
        assert torch.equal(dequantized(found, (1, 16)), exact)
    reorders = made("pack-quantized", INT4 | {"actorder": "group"})[0]
    found = canonical(LAYER, reorders, {**tensors, "weight_g_idx": sequence})
    assert found["permutation"].tolist() == list(range(48))


def test_zeros_beside_symmetric_weights_are_nothing():
    form, tensors, exact = made("int-quantized", {"num_bits": 8, "strategy": "channel"})
    found = canonical(LAYER, form, {**tensors, "weight_zero_point": torch.zeros(6, 1, dtype=torch.int8)})
    assert set(found) == {"weight", "scales"}
    assert torch.equal(dequantized(found, (1, 0)), exact)


def test_scales_of_16_bits_are_exact_in_32():
    form, tensors, _ = made("int-quantized", {"num_bits": 8, "strategy": "channel"})
    for dtype in (torch.bfloat16, torch.float16):
        scales = tensors["weight_scale"].to(dtype)
        found = canonical(LAYER, form, {**tensors, "weight_scale": scales})["scales"]
        assert found.dtype is torch.float32
        assert torch.equal(found.double(), scales.double())
    flat = canonical(LAYER, form, {**tensors, "weight_scale": tensors["weight_scale"].flatten()})
    assert torch.equal(flat["scales"], tensors["weight_scale"])


def test_outputs_that_are_no_whole_blocks_have_scales_of_their_own():
    for height, kept in ((3, True), (4, False)):
        weights = {"num_bits": 6, "symmetric": False, "strategy": "block", "block_structure": [height, 16]}
        form, tensors, exact = made("int-quantized", weights)
        assert form.block_of(6) == (height if kept else 1, 16)
        found = canonical(LAYER, form, tensors)
        assert len(found["scales"]) == len(found["zero_points"]) == (2 if kept else 6)
        assert torch.equal(dequantized(found, form.block_of(6)), exact)


def test_a_scale_of_inputs():
    form, tensors, _ = made("int-quantized", {"num_bits": 8, "strategy": "channel"}, STATIC)
    for scale in (torch.tensor([0.25]), torch.tensor(0.25, dtype=torch.bfloat16)):
        found = canonical(LAYER, form, {**tensors, "input_scale": scale})["input_scale"]
        assert (found.shape, found.dtype, float(found)) == ((), torch.float32, 0.25)


POINTS = {"num_bits": 4, "strategy": "group", "group_size": 16, "symmetric": False}
FLOAT8 = {"num_bits": 8, "type": "float", "strategy": "channel"}
NAN8 = torch.tensor([0xFF], dtype=torch.uint8).view(torch.float8_e4m3fn).expand(6, 48).contiguous()


@pytest.mark.parametrize(
    "said, weights, damage, message",
    [
        ("pack-quantized", INT4, {"weight_shape": torch.tensor([6, 47])}, "weight_shape says [6, 47]"),
        ("pack-quantized", INT4, {"weight_packed": torch.zeros(6, 5, dtype=torch.int32)}, "weight_packed is"),
        ("pack-quantized", INT4, {"weight_packed": torch.zeros(6, 6)}, "expected torch.int32 [6, 6]"),
        ("pack-quantized", INT4, {"weight_scale": torch.zeros(6, 2)}, "weight_scale is torch.float32 [6, 2]"),
        ("pack-quantized", INT4, {"weight_scale": torch.full((6, 3), torch.nan)}, "weight_scale has values"),
        ("pack-quantized", INT4, {"weight_scale": torch.full((6, 3), torch.inf)}, "weight_scale has values"),
        ("pack-quantized", INT4, {"weight_scale": torch.zeros(6, 3, dtype=torch.int8)}, "weight_scale is torch.int8"),
        ("pack-quantized", INT4, {"weight_zero_point": torch.ones(6, 3)}, "weight_zero_point is not 0"),
        ("pack-quantized", INT4, {"weight_g_idx": torch.arange(48) % 3}, "weight_g_idx reorders columns"),
        ("pack-quantized", INT4, {"weight_g_idx": torch.arange(48) // 12}, "weight_g_idx does not put 48 columns"),
        ("pack-quantized", INT4, {"weight_g_idx": torch.zeros(47, dtype=torch.int32)}, "weight_g_idx is"),
        ("pack-quantized", INT4 | {"actorder": "group"}, {}, "weight_g_idx is missing"),
        ("pack-quantized", POINTS, {"weight_zero_point": torch.zeros(6, 3, dtype=torch.int8)}, "weight_zero_point is"),
        ("naive-quantized", POINTS, {"weight_zero_point": torch.full((6, 3), 8, dtype=torch.int8)}, "from -8 to 7"),
        ("naive-quantized", INT4, {"weight": torch.full((6, 48), -9, dtype=torch.int8)}, "weight has values"),
        ("int-quantized", INT4, {"weight": torch.zeros(6, 48)}, "weight is torch.float32"),
        ("float-quantized", FLOAT8, {"weight": NAN8}, "weight has values that are no numbers"),
        ("float-quantized", FLOAT8, {"weight": torch.zeros(6, 48, dtype=torch.float8_e5m2)}, "weight is torch.float8"),
    ],
)
def test_a_damaged_tensor_is_named(said, weights, damage, message):
    form, tensors, _ = made(said, weights)
    with pytest.raises(WeightsError, match=rf"model\.layers\.0\.mlp\.up_proj: .*{re.escape(message)}"):
        canonical(LAYER, form, {**tensors, **damage})


@pytest.mark.parametrize("scale", [0.0, -1.0, torch.nan, torch.inf])
def test_a_damaged_scale_of_inputs_is_named(scale):
    form, tensors, _ = made("int-quantized", {"num_bits": 8, "strategy": "channel"}, STATIC)
    with pytest.raises(WeightsError, match=r"up_proj: input_scale is"):
        canonical(LAYER, form, {**tensors, "input_scale": torch.tensor(scale)})
