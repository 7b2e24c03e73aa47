from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.testing.weight_kernel.reference import dequantize
from kernelet_quant_online.rounding import to_int4, to_int8


def weights(rows, columns, seed):
    drawn = np.random.default_rng(seed).standard_normal((rows, columns)) + (seed % 3 - 1)
    drawn[rows // 2] = 0
    return torch.from_numpy(drawn.astype(np.float32))


def by_hand_int8(row):
    """The nearest of 255 multiples of a scale, in double precision and one by one."""
    scale = max(map(abs, row)) / 127 or 1.0
    return [round(value / scale) for value in row], scale


@given(rows=st.integers(1, 5), columns=st.integers(1, 70), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_int8_is_the_nearest(rows, columns, seed):
    weight = weights(rows, columns, seed)
    found = to_int8(weight)
    for row, values in enumerate(weight.tolist()):
        whole, scale = by_hand_int8(values)
        assert float(found["scales"][row, 0]) == pytest.approx(scale, rel=1e-6)
        exact = np.array(values) / scale
        assert np.abs(np.array(found["weight"][row].tolist()) - exact).max() <= 0.5 + 1e-4
        assert np.abs(np.array(whole) - np.array(found["weight"][row].tolist())).max() <= 1


@given(
    rows=st.integers(1, 5),
    columns=st.integers(1, 150),
    seed=st.integers(0, 99),
    group=st.sampled_from([32, 64, 128]),
    zero_points=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_int4_is_the_nearest_of_its_group(rows, columns, seed, group, zero_points):
    weight = weights(rows, columns, seed)
    found = to_int4(weight, group, zero_points=zero_points)
    assert found["weight"].shape == weight.shape
    assert found["scales"].shape == (rows, -(-columns // group))
    scheme = WeightScheme(
        element="uint4" if zero_points else "int4",
        scales=(ScaleLevel("float32", (1, group)),),
        zero_point="float" if zero_points else None,
    )
    error = (dequantize(found, scheme) - weight.double()).abs()
    for row in range(rows):
        for start in range(0, columns, group):
            part = weight[row, start : start + group].double()
            step = float(part.max() - part.min()) / 15 if zero_points else float(part.abs().max()) / 7
            most = float(part.abs().max())
            assert float(error[row, start : start + group].max()) <= 0.5 * step + 1e-6 * most


def test_zeros_stay_zero():
    weight = torch.zeros(2, 40)
    for found in (to_int8(weight), to_int4(weight, 32, zero_points=False)):
        assert not found["weight"].any()
        assert (found["scales"] == 1).all()
    found = to_int4(weight, 32, zero_points=True)
    assert not found["weight"].any()
    assert not found["zero_points"].any()


def test_a_pad_of_the_last_group_changes_no_scale():
    weight = torch.tensor([[*[0.0] * 32, 3.0, 4.5]])
    found = to_int4(weight, 32, zero_points=True)
    assert found["scales"][0].tolist() == [1.0, pytest.approx(0.1)]
    assert found["zero_points"][0].tolist() == [0.0, pytest.approx(-30)]
    assert found["weight"][0, 32:].tolist() == [0, 15]
    assert to_int4(weight, 32, zero_points=False)["scales"].tolist() == [[1.0, pytest.approx(4.5 / 7)]]


def test_a_group_of_one_value_is_exact():
    weight = torch.full((2, 64), -0.37)
    found = to_int4(weight, 64, zero_points=True)
    assert not found["weight"].any()
    assert torch.equal((found["weight"][:, :1] - found["zero_points"]) * found["scales"], weight[:, :1])
