from __future__ import annotations

import pytest
import torch

from kernelet.contracts.op import DENSE, ScaleLevel, WeightScheme
from kernelet.testing.weight_kernel.reference import dequantize, no_reference
from kernelet.testing.weight_kernel.schemes import SCHEMES, describe, make_weights, strange_ones


def test_schemes_differ_and_cover_each_property():
    assert len(set(SCHEMES)) == len({describe(scheme) for scheme in SCHEMES}) == len(SCHEMES) == 30
    assert {scheme.zero_point for scheme in SCHEMES} == {None, "int", "float", "offset"}
    assert {scheme.permuted for scheme in SCHEMES} == {True, False}
    assert {scheme.activation for scheme in SCHEMES} == {None, "static", "dynamic"}
    assert {len(scheme.scales) for scheme in SCHEMES} == {0, 1, 2}
    assert not any(no_reference(scheme) for scheme in SCHEMES)


def test_strange_ones_are_not_known():
    for scheme in SCHEMES:
        strange = list(strange_ones(scheme))
        assert len(set(strange)) == (6 if scheme.activation is None else 7)
        assert scheme not in strange
        assert all(no_reference(one) for one in strange)


@pytest.mark.parametrize("scheme", SCHEMES, ids=describe)
@pytest.mark.parametrize("shape", [(37, 48), (3, 16, 130)])
def test_weights_have_the_canonical_form_and_a_useful_size(scheme, shape):
    weights = make_weights(scheme, shape, torch.float32, seed=0)
    whole = dequantize(weights, scheme)
    assert whole.shape == shape
    product = torch.randn(50, shape[-1], dtype=torch.float64) @ whole.flatten(0, -2).T
    assert 0.2 < product.std() < 5
    again, other = (make_weights(scheme, shape, torch.float32, seed=seed) for seed in (0, 1))
    for name, tensor in weights.items():
        assert torch.equal(tensor.double(), again[name].double())
    assert not torch.equal(other["weight"].double(), weights["weight"].double())


def test_offsets_and_sub_scales_by_name_and_dtype():
    levels = (ScaleLevel("uint8", (1, 16)), ScaleLevel("int8", (1, 32)), ScaleLevel("float16", (1, 256)))
    scheme = WeightScheme(element="uint2", scales=levels, zero_point="offset")
    weights = make_weights(scheme, (2, 8, 300), torch.float32, seed=0)
    wanted = {"": (torch.uint8, 19), "_1": (torch.int8, 10), "_2": (torch.float16, 2)}
    assert {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in weights.items() if name != "weight"} == {
        f"{name}{end}": (dtype, (2, 8, count))
        for end, (dtype, count) in wanted.items()
        for name in ("scales", "offsets")
    }
    assert min(int(weights["scales"].min()), int(weights["offsets"].min())) >= 20
    assert {int(sign) for sign in weights["scales_1"].sign().unique()} == {-1, 1}


def test_canonical_tensors_by_name_and_dtype():
    scheme = WeightScheme(
        element="uint4",
        scales=(ScaleLevel("bfloat16", (1, 32)), ScaleLevel("float32", (0, 0))),
        zero_point="float",
        permuted=True,
        activation="static",
        activation_element="int8",
    )
    weights = make_weights(scheme, (2, 8, 80), torch.float16, seed=0)
    assert {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in weights.items()} == {
        "weight": (torch.uint8, (2, 8, 80)),
        "scales": (torch.bfloat16, (2, 8, 3)),
        "scales_1": (torch.float32, (2, 1, 1)),
        "zero_points": (torch.bfloat16, (2, 8, 3)),
        "permutation": (torch.int32, (2, 80)),
        "input_scale": (torch.float32, ()),
    }
    assert (int(weights["weight"].min()), int(weights["weight"].max())) == (0, 15)
    assert all(sorted(order) == list(range(80)) for order in weights["permutation"].tolist())
    assert make_weights(DENSE, (2, 3), torch.float16, seed=0)["weight"].dtype == torch.float16
