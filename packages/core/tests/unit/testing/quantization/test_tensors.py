from __future__ import annotations

import pytest
import torch

from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.testing.quantization.tensors import differences, misfit, worst_row
from kernelet.testing.weight_kernel.schemes import SCHEMES, make_weights


@pytest.mark.parametrize("scheme", SCHEMES[1:], ids=range(1, len(SCHEMES)))
def test_canonical_tensors_of_the_kit_fit(scheme):
    weights = make_weights(scheme, (40, 130), torch.float32, 1)
    assert not misfit(weights, scheme, (40, 130))
    assert "[40, 131]" in misfit(weights, scheme, (40, 131))
    for name in weights:
        assert misfit({key: tensor for key, tensor in weights.items() if key != name}, scheme, (40, 130))
        assert misfit(weights | {name: weights[name].to(torch.complex64)}, scheme, (40, 130))


def test_a_tensor_too_many():
    scheme = WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),))
    weights = make_weights(scheme, (3, 4), torch.float32, 1)
    assert "zero_points" in misfit(weights | {"zero_points": weights["scales"]}, scheme, (3, 4))


def test_differences():
    one = {"a": torch.ones(2), "b": torch.zeros(1)}
    assert differences(one, dict(one)) == []
    assert differences(one, one | {"b": torch.ones(1)}) == ["b"]
    assert differences(one, {"a": torch.ones(2, dtype=torch.float64), "b": one["b"]}) == ["a"]
    assert sorted(differences(one, {"a": one["a"], "c": one["b"]})) == ["b", "c"]


def test_the_worst_row_is_relative_and_never_nan():
    weight = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    assert worst_row(weight, weight) == 0
    assert worst_row(weight + torch.tensor([[0.0, 0.5], [0.0, 0.0]]), weight) == pytest.approx(0.1)
    assert worst_row(weight + torch.tensor([[0.0, 0.0], [0.0, 2.0]]), weight) == 2
    assert worst_row(weight * torch.nan, weight) > 1e300
