from __future__ import annotations

import itertools

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, ScaleLevel, WeightScheme
from kernelet.testing.weight_kernel.reference import ReferenceKernel, blocks_of, dequantize, rounded

D = torch.float64
SETTINGS = Settings(plugin="x")


def test_dequantize_is_its_formula_element_by_element():
    fine, coarse = ScaleLevel("float32", (2, 3)), ScaleLevel("float32", (0, 4))
    scheme = WeightScheme(element="int4", scales=(fine, coarse), zero_point="int", permuted=True)
    assert (blocks_of(fine, (5, 7)), blocks_of(coarse, (2, 5, 7))) == ((3, 3), (2, 1, 2))
    generator = torch.Generator().manual_seed(0)
    weights = {
        "weight": torch.randint(-8, 8, (5, 7), dtype=torch.int8, generator=generator),
        "scales": torch.rand(3, 3, generator=generator),
        "scales_1": torch.rand(1, 2, generator=generator),
        "zero_points": torch.randint(-8, 8, (3, 3), dtype=torch.int8, generator=generator),
        "permutation": torch.randperm(7, generator=generator, dtype=torch.int32),
    }
    found = dequantize(weights, scheme)
    for row in range(5):
        for column in range(7):
            stored = int(weights["weight"][row, column]) - int(weights["zero_points"][row // 2, column // 3])
            scale = float(weights["scales"][row // 2, column // 3]) * float(weights["scales_1"][0, column // 4])
            place = int(weights["permutation"][column])
            assert float(found[row, place]) == pytest.approx(stored * scale)


def test_offsets_are_added_to_what_was_scaled():
    fine, coarse = ScaleLevel("uint8", (1, 3)), ScaleLevel("float16", (0, 4))
    scheme = WeightScheme(element="uint4", scales=(fine, coarse), zero_point="offset", permuted=True)
    generator = torch.Generator().manual_seed(0)
    weights = {
        "weight": torch.randint(0, 16, (2, 5, 7), dtype=torch.uint8, generator=generator),
        "scales": torch.randint(1, 200, (2, 5, 3), dtype=torch.uint8, generator=generator),
        "scales_1": torch.rand(2, 1, 2, generator=generator).half(),
        "offsets": torch.randint(1, 200, (2, 5, 3), dtype=torch.uint8, generator=generator),
        "offsets_1": -torch.rand(2, 1, 2, generator=generator).half(),
        "permutation": torch.stack([torch.randperm(7, generator=generator, dtype=torch.int32) for _ in range(2)]),
    }
    found = dequantize(weights, scheme)
    for expert, row, column in itertools.product(range(2), range(5), range(7)):
        values = {name: tensor.double() for name, tensor in weights.items()}
        small, large = (expert, row, column // 3), (expert, 0, column // 4)
        scaled = values["weight"][expert, row, column] * values["scales"][small] * values["scales_1"][large]
        added = values["offsets"][small] * values["offsets_1"][large]
        place = int(weights["permutation"][expert, column])
        assert float(found[expert, row, place]) == pytest.approx(float(scaled + added))


def test_small_floats_and_float_zero_points():
    scheme = WeightScheme(element="e4m3fn", scales=(ScaleLevel("float32", (1, 0)),), zero_point="float")
    weight = torch.tensor([[[1.5, -448.0]]]).to(torch.float8_e4m3fn)
    weights = {"weight": weight, "scales": torch.tensor([[[2.0]]]), "zero_points": torch.tensor([[[0.25]]])}
    assert dequantize(weights, scheme).tolist() == [[[2.5, -896.5]]]


@pytest.mark.parametrize("scheme", [WeightScheme(opaque="x"), WeightScheme(element="new"), WeightScheme(codebook=16)])
def test_what_has_no_reference_is_refused(scheme):
    assert not ReferenceKernel.supports("linear", scheme, "float32", (2, 2)).ok
    with pytest.raises(ValueError, match="no reference"):
        dequantize({"weight": torch.zeros(2, 2)}, scheme)


def test_roles():
    weight, x, bias = torch.randn(3, 4, 5, dtype=D), torch.randn(2, 5, dtype=D), torch.randn(4, dtype=D)
    linear = ReferenceKernel(SETTINGS, "linear", DENSE)
    prepared = linear.prepare({"weight": weight[0]})
    torch.testing.assert_close(linear.apply(x, prepared, bias), x @ weight[0].T + bias)
    assert linear.apply(x[:0], prepared, None).shape == (0, 4)
    grouped = ReferenceKernel(SETTINGS, "grouped_linear", DENSE)
    torch.testing.assert_close(grouped.apply_grouped(x, grouped.prepare({"weight": weight}), 2), x @ weight[2].T)
    table = weight[0].half()
    embedding = ReferenceKernel(SETTINGS, "embedding", DENSE)
    found = embedding.apply(torch.tensor([3, 0]), embedding.prepare({"weight": table}), None)
    assert torch.equal(found, table[[3, 0]])


def test_inputs_are_rounded_with_the_scale_of_their_row():
    scheme = WeightScheme(element="int8", activation="dynamic", activation_element="int8")
    x = torch.tensor([[127.0, 0.5, 1.5, -2.5], [0.0, 0.0, 0.0, 0.0], [254.0, 1.0, 3.0, -5.0]])
    expected = torch.tensor([[127.0, 0.0, 2.0, -2.0], [0.0, 0.0, 0.0, 0.0], [254.0, 0.0, 4.0, -4.0]])
    assert torch.equal(rounded(x, scheme), expected.double())


@pytest.mark.parametrize("strange", [torch.nan, torch.inf, -torch.inf])
def test_a_row_that_is_not_finite_is_not_rounded_to_numbers(strange):
    scheme = WeightScheme(element="int8", activation="dynamic", activation_element="int8")
    found = rounded(torch.tensor([[1.0, strange], [1.0, -1.0]]), scheme)
    assert found[0].isnan().all()
    largest = (torch.tensor(1.0) / 127).double() * 127
    assert torch.equal(found[1], torch.stack([largest, -largest]))


def test_inputs_of_float8_are_rounded_to_it():
    scheme = WeightScheme(element="e4m3fn", activation="dynamic", activation_element="e4m3fn")
    assert torch.equal(
        rounded(torch.tensor([[448.0, 17.0, 19.0]]), scheme), torch.tensor([[448.0, 16.0, 20.0]]).double()
    )


def test_other_inputs_stay_as_they_are():
    x = torch.tensor([[0.3, 100.0]])
    assert torch.equal(rounded(x, WeightScheme()), x.double())
    assert torch.equal(rounded(x, WeightScheme(activation="static", activation_element="int8")), x.double())
