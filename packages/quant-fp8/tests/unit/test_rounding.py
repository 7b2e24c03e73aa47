from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.testing.quantization.layers import weight_of
from kernelet_quant_fp8.rounding import round_weight

EVERY = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).double()
NUMBERS = EVERY[EVERY.isfinite()]


@given(
    rows=st.integers(1, 20),
    columns=st.integers(1, 40),
    block=st.sampled_from([(0, 0), (1, 0), (128, 128), (3, 16)]),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_numbers_are_the_nearest(rows, columns, block, seed):
    weight = weight_of((rows, columns), seed)
    numbers, scales = round_weight(weight, block)
    height, width = block[0] or rows, block[1] or columns
    assert scales.shape == (-(-rows // height), -(-columns // width))
    for row in range(scales.shape[0]):
        for column in range(scales.shape[1]):
            part = (slice(row * height, (row + 1) * height), slice(column * width, (column + 1) * width))
            largest = float(weight[part].abs().max())
            assert float(scales[row, column]) == (torch.tensor(largest) / 448 if largest else 1.0)
            steps = weight[part].double() / float(scales[row, column])
            found = (steps - numbers[part].double()).abs()
            assert bool((found <= (steps[..., None] - NUMBERS).abs().amin(2) + 1e-4).all())


def test_zeros_are_zeros():
    numbers, scales = round_weight(torch.zeros(3, 5), (2, 2))
    assert not numbers.float().any()
    assert torch.equal(scales, torch.ones(2, 3))
