from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, ScaleLevel, WeightScheme
from kernelet.testing.verdict import ConformanceError
from kernelet.testing.weight_kernel.cases import Case
from kernelet.testing.weight_kernel.reference import ReferenceKernel, dequantize
from kernelet.testing.weight_kernel.schemes import make_weights

INT8 = WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),))


def case(role, scheme=DENSE, dtype="float64", shape=(6, 4)):
    return Case(
        role=role,
        scheme=scheme,
        dtype=dtype,
        shape=shape,
        tolerance=1e-12,
        create=lambda: ReferenceKernel(Settings(plugin="x"), role, scheme),
        make=lambda seed: make_weights(scheme, shape, getattr(torch, dtype), seed),
        dequantize=lambda weights: dequantize(weights, scheme),
        device=torch.device("cpu"),
    )


@pytest.mark.parametrize("role, shape", [("linear", (6, 4)), ("grouped_linear", (3, 6, 4)), ("embedding", (6, 4))])
def test_the_truth_is_the_formula(role, shape):
    made = case(role, shape=shape)
    kernel, prepared, weights = made.prepared(seed=2)
    x, bias = made.inputs(5), made.bias()
    weight = weights["weight"]
    if role == "linear":
        expected = (x[:, None] * weight).sum(-1) + bias
    elif role == "grouped_linear":
        assert bias is None
        expected = torch.cat([(x[:, None] * expert).sum(-1) for expert in weight], -1)
    else:
        expected = torch.stack([weight[int(i)] for i in x])
    torch.testing.assert_close(made.truth(weights, x, bias), expected)
    made.check(made.compute(kernel, x, prepared, bias), weights, x, bias, "x")
    with pytest.raises(ConformanceError, match=r"^x \("):
        made.check(made.compute(kernel, x, prepared, bias) + 1e-9, weights, x, bias, "x")


def test_rows_are_the_same_for_every_number_of_rows():
    made = case("linear")
    assert torch.equal(made.inputs(7)[:3], made.inputs(3))
    assert made.inputs(0).shape == (0, 4)


def test_a_quantized_table_may_return_any_dtype():
    assert not case("embedding", INT8).keeps_dtype
    assert case("embedding").keeps_dtype and case("linear", INT8).keeps_dtype
    made = case("embedding", INT8)
    ids, weights = made.inputs(3), made.make(0)
    rows = made.truth(weights, ids)
    made.check(rows.bfloat16(), weights, ids, None, "x")
    with pytest.raises(ConformanceError):
        made.check(rows.bfloat16().double(), weights, ids, None, "x")


def test_a_case_in_words():
    assert str(case("linear", INT8)) == (
        "linear [6, 4] with float64 inputs, stored as int8, float32 scales of blocks (1, 0)"
    )
