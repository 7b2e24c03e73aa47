from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from acme_steering.op import SteeredLayer, read_vector
from safetensors.torch import save_file

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError

VECTOR = torch.tensor([1.0, -2.0, 0.5])


@dataclass
class Layer:
    """Adds its place to the stream."""

    index: int

    def compose(self, residual, step):
        return residual + self.index + step


@pytest.fixture
def make(tmp_path):
    def make(tensor=VECTOR, **values):
        save_file({"vector": tensor}, tmp_path / "vector.safetensors")
        values = {"vector": str(tmp_path / "vector.safetensors"), "layers": "1,3", "strength": 1.0} | values
        return SteeredLayer(Settings(plugin="acme-steering", values=values))

    return make


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("strength", [1.0, -2.5, 0.0])
def test_the_vector_is_added_after_the_layer_and_only_there(make, dtype, strength):
    op, x = make(strength=strength), torch.randn(4, 3, dtype=dtype)
    for index in range(5):
        found = op(Layer(index), x, 10)
        expected = x + index + 10 + (strength * VECTOR if index in {1, 3} else 0)
        assert found.dtype == dtype
        torch.testing.assert_close(found, expected.to(dtype))


def test_a_row_of_a_matrix_will_do(make):
    torch.testing.assert_close(make(VECTOR[None])(Layer(1), torch.zeros(2, 3), 0), (1 + VECTOR).expand(2, 3))


def test_a_vector_of_another_model(make):
    with pytest.raises(ConfigError, match="has 3 elements, but the model's hidden size is 4"):
        make()(Layer(1), torch.zeros(2, 4), 0)


@pytest.mark.parametrize(
    "values, message",
    [
        ({"layers": None}, "acme-steering.layers is not set"),
        ({"vector": None}, "acme-steering.vector is not set"),
        ({"strength": float("nan")}, "give a finite number"),
        ({"vector": "/nowhere/v.safetensors"}, "/nowhere/v.safetensors cannot be read as a safetensors file"),
    ],
)
def test_options_that_cannot_work(make, values, message):
    with pytest.raises(ConfigError, match=message):
        make(**values)


@pytest.mark.parametrize(
    "tensors",
    [
        {"a": VECTOR, "b": VECTOR + 1},
        {"a": torch.ones(2, 3)},
        {"a": torch.ones(3, dtype=torch.int64)},
        {"a": torch.tensor(1.0)},
    ],
    ids=["two", "matrix", "integers", "number"],
)
def test_a_file_with_something_else(tmp_path, tensors):
    save_file(tensors, tmp_path / "v")
    with pytest.raises(ConfigError, match=r"must hold one floating tensor \[hidden\], and has \{'a': \["):
        read_vector(tmp_path / "v")


def test_a_file_that_is_none_and_values_that_are_none(tmp_path):
    (tmp_path / "v").write_bytes(b"not a safetensors file")
    with pytest.raises(ConfigError, match="cannot be read as a safetensors file"):
        read_vector(tmp_path / "v")
    save_file({"a": torch.tensor([1.0, float("inf")])}, tmp_path / "v")
    with pytest.raises(ConfigError, match="not finite"):
        read_vector(tmp_path / "v")
