from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.testing.quantization.layers import weight_of
from kernelet_quant_compressed_tensors.configuration import form_of, read
from kernelet_quant_compressed_tensors.conformance import configured
from kernelet_quant_compressed_tensors.rounding import round_weight, stored


def form(said, **weights):
    config = read(configured(said, weights))
    return form_of("group_0", config.config_groups["group_0"], said, round_inputs=True)


@given(
    rows=st.integers(1, 9),
    columns=st.integers(1, 70),
    bits=st.integers(2, 8),
    symmetric=st.booleans(),
    block=st.sampled_from([[1, 64], [4, 5], [9, 70]]),
)
@settings(max_examples=40, deadline=None)
def test_integers_are_the_nearest(rows, columns, bits, symmetric, block):
    chosen = form("naive-quantized", num_bits=bits, symmetric=symmetric, strategy="block", block_structure=block)
    weight = weight_of((rows, columns), rows * columns) + 0.1 * (rows % 3)
    found = round_weight(weight, chosen)
    assert (found.points is None) is symmetric
    half = 1 << (bits - 1)
    assert -half <= int(found.numbers.min()) <= int(found.numbers.max()) < half
    for row in range(rows):
        for column in range(columns):
            scale = float(found.scales[row // block[0], column // block[1]])
            error = abs(float(found.exact[row, column]) - float(weight[row, column]))
            most = 0.5 if symmetric else 1.0  # a zero point is rounded too, which moves the ends of the range
            assert error <= most * scale * (1 + 1e-4)


def test_floats_are_the_nearest():
    chosen = form("float-quantized", num_bits=8, type="float", strategy="channel")
    weight = weight_of((5, 40), 3)
    found = round_weight(weight, chosen)
    every = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).double()
    every = every[every.isfinite()]
    steps = weight.double() / found.scales.double()
    nearest = (steps[..., None] - every).abs().amin(2)
    assert torch.equal((steps - found.numbers.double()).abs(), nearest)
    assert torch.equal(found.exact, found.numbers.double() * found.scales.double())


def test_zeros_are_zeros():
    for symmetric in (True, False):
        found = round_weight(torch.zeros(2, 40), form("int-quantized", symmetric=symmetric, strategy="channel"))
        assert not found.exact.any()
        assert torch.equal(found.scales, torch.ones(2, 1))


@pytest.mark.parametrize(
    "said, weights, shapes",
    [
        ("pack-quantized", {"num_bits": 4, "group_size": 16}, {"packed": (5, 6), "scale": (5, 3), "shape": (2,)}),
        ("pack-quantized", {"num_bits": 3, "group_size": 16}, {"packed": (5, 5), "scale": (5, 3), "shape": (2,)}),
        (
            "pack-quantized",
            {"num_bits": 8, "strategy": "channel", "symmetric": False},
            {"packed": (5, 12), "scale": (5, 1), "shape": (2,), "zero_point": (2, 1)},
        ),
        ("int-quantized", {"strategy": "tensor", "symmetric": False}, {"": (5, 48), "scale": (1,), "zero_point": (1,)}),
        ("int-quantized", {"strategy": "channel"}, {"": (5, 48), "scale": (5, 1)}),
        (
            "float-quantized",
            {"type": "float", "strategy": "block", "block_structure": [4, 32]},
            {"": (5, 48), "scale": (2, 2)},
        ),
    ],
)
def test_the_tensors_of_a_module(said, weights, shapes):
    chosen = form(said, **weights)
    found = stored(round_weight(weight_of((5, 48), 1), chosen), chosen)
    wanted = {f"weight_{name}" if name else "weight": shape for name, shape in shapes.items()}
    assert {name: tuple(tensor.shape) for name, tensor in found.items()} == wanted
    assert all(tensor.is_contiguous() for tensor in found.values())
