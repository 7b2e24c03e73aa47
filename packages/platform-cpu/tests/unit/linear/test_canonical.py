from __future__ import annotations

import pytest
import torch

from kernelet.contracts.op import DENSE, ScaleLevel, WeightScheme
from kernelet.testing.weight_kernel import make_weights
from kernelet_platform_cpu.linear.canonical import BYTES, FLOATS, HALVES, LONGEST, NIBBLES, canonical, supports


def scheme(element="int8", block=(1, 0), **fields):
    return WeightScheme(element=element, scales=(ScaleLevel("float32", block),), **fields)


def levels(element, *dtypes, blocks=((1, 8), (1, 0), (0, 0)), **fields):
    scales = tuple(ScaleLevel(dtype, block) for dtype, block in zip(dtypes, blocks, strict=False))
    return WeightScheme(element=element, scales=scales, **fields)


@pytest.mark.parametrize(
    "asked, shape, reason",
    [
        (DENSE, (4, 8), "integers of 2 to 8 bits"),
        (scheme("e3m2"), (4, 8), "integers of 2 to 8 bits"),
        (WeightScheme(element="int8"), (4, 8), "one or two levels of scales"),
        (levels("int8", "float16", "float16", "float16"), (4, 8), "one or two levels of scales"),
        (levels("int8", "float32", "float16"), (4, 8), "below others in float16"),
        (levels("int3", "int8", "float16", blocks=((1, 16), (1, 48))), (4, 96), "second levels of whole 32 inputs"),
        (scheme(block=(1, 12)), (4, 16), "a multiple of 8"),
        (WeightScheme(element="int8", scales=(ScaleLevel("float64", (1, 0)),)), (4, 8), "scales in float32"),
        (scheme(zero_point="strange"), (4, 8), "int, float or offsets"),
        (scheme("e4m3fn", zero_point="float"), (4, 8), "float8 without zero points"),
        (scheme(activation="dynamic", activation_element="int4"), (4, 8), "int8, e4m3fn or e5m2"),
        (scheme(activation="dynamic"), (4, 8), "int8, e4m3fn or e5m2"),
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
        "scales": torch.tensor([[1.0, 2.0, 0.1], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]),
    }
    given = canonical(weights, scheme(block=(2, 8)))
    assert {name: given.fields[name] for name in ("outputs", "inputs", "group", "bits", "origin")} == {
        "outputs": 5,
        "inputs": 20,
        "group": 8,
        "bits": 8,
        "origin": 128,
    }
    assert given.zeros is None
    assert torch.equal(given.scales[0, :, 0], torch.tensor([1.0, 1.0, 4.0, 4.0, 7.0]))
    assert given.scales.dtype is torch.float32
    assert canonical({**weights, "scales": torch.ones(1, 1)}, scheme(block=(0, 0))).fields["group"] == 32


def test_scales_are_halves_where_that_loses_nothing():
    weights = {"weight": torch.zeros(5, 20, dtype=torch.int8), "scales": torch.full((5, 3), 0.5)}
    exact = canonical(weights, scheme(block=(1, 8)))
    assert (exact.scales.dtype, exact.fields["scale"]) == (torch.float16, HALVES)
    for value in (1e-9, 1e6, 0.1, torch.nan):
        other = {**weights, "scales": weights["scales"].clone()}
        other["scales"][4, 2] = value
        kept = canonical(other, scheme(block=(1, 8)))
        assert (kept.scales.dtype, kept.fields["scale"]) == (torch.float32, FLOATS)
        offsets = {**weights, "offsets": other["scales"]}
        assert canonical(offsets, scheme(block=(1, 8), zero_point="offset")).scales.dtype is torch.float32


@pytest.mark.parametrize("largest, form", [(15, NIBBLES), (16, BYTES)])
def test_small_sub_scales_and_offsets_share_a_byte(largest, form):
    asked = levels("uint2", "uint8", "float16", blocks=((1, 16), (1, 64)), zero_point="offset")
    weights = make_weights(asked, (3, 64), torch.float32, 0)
    weights["scales"] = torch.full_like(weights["scales"], 15)
    weights["offsets"] = torch.full_like(weights["offsets"], largest)
    given = canonical(weights, asked)
    assert (given.fields["scale"], given.zeros is None) == (form, form == NIBBLES)
    assert given.scales.unique().tolist() == [255 if form == NIBBLES else 15]


def test_a_small_float_that_is_no_number_is_refused():
    weights = {"weight": torch.tensor([[1.0, torch.nan]]).to(torch.float8_e4m3fn), "scales": torch.ones(1, 1)}
    with pytest.raises(ValueError, match="e4m3fn has elements that are no numbers"):
        canonical(weights, scheme("e4m3fn"))


def test_zero_points_move_with_the_elements():
    weights = {
        "weight": torch.zeros(2, 8, dtype=torch.int8),
        "scales": torch.ones(2, 1),
        "zero_points": torch.tensor([[-8], [8]], dtype=torch.int8),
    }
    given = canonical(weights, scheme("int4", zero_point="int"))
    assert given.zeros.dtype is torch.uint8
    assert given.zeros.flatten().tolist() == [0, 16]
    halves = {**weights, "zero_points": torch.tensor([[-0.5], [7.25]])}
    assert canonical(halves, scheme("int4", zero_point="float")).zeros.flatten().tolist() == [7.5, 15.25]
    weights["zero_points"] = torch.tensor([[-9], [0]], dtype=torch.int8)
    with pytest.raises(ValueError, match="from -9 to 0"):
        canonical(weights, scheme("int4", zero_point="int"))
