from __future__ import annotations

import pytest
import torch

from kernelet.contracts.op import DENSE, ScaleLevel, WeightScheme
from kernelet_platform_cpu.linear.integers import LONGEST, integers, supports


def scheme(element="int8", block=(1, 0), **fields):
    return WeightScheme(element=element, scales=(ScaleLevel("float32", block),), **fields)


@pytest.mark.parametrize(
    "asked, shape, reason",
    [
        (DENSE, (4, 8), "elements of 2 to 8 bits"),
        (scheme("e4m3fn"), (4, 8), "elements of 2 to 8 bits"),
        (WeightScheme(element="int8"), (4, 8), "one level of scales"),
        (scheme(block=(1, 12)), (4, 16), "a multiple of 8"),
        (WeightScheme(element="int8", scales=(ScaleLevel("float64", (1, 0)),)), (4, 8), "scales in float32"),
        (scheme(zero_point="strange"), (4, 8), "int or float"),
        (scheme(activation="dynamic", activation_element="e4m3fn"), (4, 8), "int8, dynamic or static"),
        (scheme(activation="dynamic"), (4, 8), "int8, dynamic or static"),
        (scheme(codebook=3), (4, 8), "no codebook"),
        (scheme(opaque="q"), (4, 8), "canonical weights"),
        (scheme(activation="dynamic", activation_element="int8"), (4, LONGEST + 1), f"at most {LONGEST}"),
    ],
)
def test_a_refusal_says_what_is_taken_and_what_was_asked(asked, shape, reason):
    answer = supports(asked, shape)
    assert not answer.ok
    assert reason in answer.reason
    assert asked.describe() in answer.reason


@pytest.mark.parametrize(
    "asked, shape",
    [
        (scheme(block=(1, 12)), (4, 12)),
        (scheme("uint4", (64, 128), zero_point="float"), (100, 300)),
        (scheme(activation="dynamic", activation_element="int8", block=(1, 64)), (4, LONGEST + 1)),
        (scheme(activation="static", activation_element="int8"), (4, LONGEST)),
    ],
)
def test_these_are_taken(asked, shape):
    assert supports(asked, shape).ok


def test_scales_of_blocks_become_those_of_rows_and_groups():
    weights = {
        "weight": torch.zeros(5, 20, dtype=torch.int8),
        "scales": torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], dtype=torch.bfloat16),
    }
    given = integers(weights, scheme(block=(2, 8)))
    assert (given.group, given.bits, given.origin, given.zeros) == (8, 8, 128, None)
    assert torch.equal(given.scales[0, :, 0], torch.tensor([1.0, 1.0, 4.0, 4.0, 7.0]))
    assert given.scales.dtype is torch.float32
    assert integers({**weights, "scales": torch.ones(1, 1)}, scheme(block=(0, 0))).group == 24


def test_zero_points_move_with_the_elements():
    weights = {
        "weight": torch.zeros(2, 8, dtype=torch.int8),
        "scales": torch.ones(2, 1),
        "zero_points": torch.tensor([[-8], [8]], dtype=torch.int8),
    }
    given = integers(weights, scheme("int4", zero_point="int"))
    assert given.zeros.dtype is torch.uint8
    assert given.zeros.flatten().tolist() == [0, 16]
    halves = {**weights, "zero_points": torch.tensor([[-0.5], [7.25]])}
    assert integers(halves, scheme("int4", zero_point="float")).zeros.flatten().tolist() == [7.5, 15.25]
    weights["zero_points"] = torch.tensor([[-9], [0]], dtype=torch.int8)
    with pytest.raises(ValueError, match="from -9 to 0"):
        integers(weights, scheme("int4", zero_point="int"))
