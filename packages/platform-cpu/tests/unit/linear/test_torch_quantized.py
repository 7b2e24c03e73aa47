from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.testing.weight_kernel import dequantize, make_weights
from kernelet_platform_cpu.linear.torch_quantized import TorchQuantized, rounded

GROUPS = (ScaleLevel("float32", (1, 16)),)


def kernel(scheme, role="linear"):
    return TorchQuantized(Settings(plugin="platform-cpu"), role, scheme)


def test_a_row_has_the_same_bits_wherever_it_stands():
    scheme = WeightScheme(element="int4", scales=GROUPS, zero_point="int")
    made = kernel(scheme)
    prepared = made.prepare(make_weights(scheme, (70, 129), torch.float32, 0))
    x = torch.randn(40, 129, generator=torch.Generator().manual_seed(0))
    got = made.apply(x, prepared, None)
    for shift in (1, 7, 16, 39):
        assert torch.equal(made.apply(x.roll(shift, 0), prepared, None).roll(-shift, 0), got)


def test_it_is_the_dequantized_product():
    scheme = WeightScheme(element="uint4", scales=GROUPS, zero_point="float", permuted=True)
    weights = make_weights(scheme, (12, 40), torch.float64, 0)
    made = kernel(scheme)
    x = torch.randn(3, 40, dtype=torch.float64)
    expected = x @ dequantize(weights, scheme).T
    torch.testing.assert_close(made.apply(x, made.prepare(weights), None), expected)
    table = kernel(scheme, "embedding")
    rows = table.apply(torch.tensor([11, 0]), table.prepare(weights), None)
    torch.testing.assert_close(rows.double(), dequantize(weights, scheme)[[11, 0]])


def test_inputs_are_rounded_to_even_multiples_of_their_scale():
    x = torch.tensor([[127.0, 0.5, 1.5, -200.0], [0.0, 0.0, 0.0, 0.0], [1.0, torch.nan, 0.0, 0.0]])
    steps, scales = rounded(x[:, :3], None, "int8")
    assert steps[0].tolist() == [127.0, 0.0, 2.0]
    assert scales[:2].flatten().tolist() == [1.0, 0.0]
    assert not steps[1].any()
    assert scales[2].isnan()
    steps, scales = rounded(x[:2], torch.tensor(1.0), "int8")
    assert steps[0].tolist() == [127.0, 0.0, 2.0, -127.0]
    assert scales.flatten().tolist() == [1.0, 1.0]


def test_inputs_of_float8_are_held_to_its_largest_number():
    x = torch.tensor([[448.0, 17.0, 19.0, -500.0]])
    steps, scales = rounded(x, torch.tensor(1.0), "e4m3fn")
    assert (steps.tolist(), scales.tolist()) == ([[448.0, 16.0, 20.0, -448.0]], [[1.0]])
    steps, scales = rounded(x[:, :3] * 128, None, "e5m2")
    assert (steps.tolist(), scales.tolist()) == ([[57344.0, 2048.0, 2560.0]], [[1.0]])


@pytest.mark.parametrize("role", ["linear", "embedding"])
def test_rows_are_those_of_the_weight(role):
    levels = (ScaleLevel("uint8", (1, 16)), ScaleLevel("float16", (1, 40)))
    scheme = WeightScheme(element="uint3", scales=levels, zero_point="offset", permuted=True)
    weights = make_weights(scheme, (12, 90), torch.float32, 0)
    made = kernel(scheme, role)
    prepared, ids = made.prepare(weights), torch.tensor([11, 0, 11])
    found = made.rows(ids, prepared)
    torch.testing.assert_close(found.double(), dequantize(weights, scheme)[ids], rtol=1e-6, atol=1e-6)
    assert made.has_rows("bfloat16") is (role == "linear")
    assert not made.has_rows("float64")
    for wrong in (12, -1):
        with pytest.raises(IndexError, match="a table of 12"):
            made.rows(torch.tensor([0, wrong]), prepared)


@pytest.mark.parametrize(
    "asked, reason",
    [
        (WeightScheme(), "integers of 2 to 8 bits"),
        (WeightScheme(element="int4"), "weights with scales"),
        (WeightScheme(element="int4", scales=(ScaleLevel("int32", (1, 0)),)), "scales in float64"),
        (WeightScheme(element="int4", scales=GROUPS, codebook=3), "no codebook"),
        (WeightScheme(element="int4", scales=GROUPS, opaque="q"), "canonical weights"),
        (WeightScheme(element="int4", scales=GROUPS, zero_point="strange"), "offsets"),
        (WeightScheme(element="int4", scales=GROUPS, activation="dynamic"), "inputs as they are"),
    ],
)
def test_a_refusal_says_what_is_taken_and_what_was_asked(asked, reason):
    answer = TorchQuantized.supports("linear", asked, "float32", (4, 16))
    assert not answer.ok
    assert reason in answer.reason
    assert asked.describe() in answer.reason


@pytest.mark.parametrize("dtype", ["float8_e5m2", "int8"])
def test_refuses_other_dtypes(dtype):
    answer = TorchQuantized.supports("linear", WeightScheme(element="int4", scales=GROUPS), dtype, (4, 16))
    assert not answer.ok
    assert dtype in answer.reason
