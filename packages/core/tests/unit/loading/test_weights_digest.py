from __future__ import annotations

import pytest
import torch

from kernelet.contracts.model import WeightReader
from kernelet.loading.weights_digest import weights_digest


class Reader(WeightReader):
    def __init__(self, **tensors):
        self.tensors = tensors
        self.read_bytes = 0

    def names(self):
        return list(self.tensors)

    def shape(self, name):
        return tuple(self.tensors[name].shape)

    def read(self, name, rows=None):
        found = self.tensors[name] if rows is None else self.tensors[name][rows]
        self.read_bytes += found.nbytes
        return found

    def nbytes(self, name=None):
        return self.tensors[name].nbytes


def model(**changed):
    torch.manual_seed(0)
    tensors = {"matrix": torch.randn(500, 96), "norm": torch.randn(96), "scale": torch.tensor(2.0)}
    return Reader(**{**tensors, **changed})


def test_the_order_of_names_does_not_matter():
    tensors = model().tensors
    assert weights_digest(model()) == weights_digest(Reader(**dict(reversed(tensors.items()))))


@pytest.mark.parametrize(
    "changed",
    [
        {"matrix": torch.randn(500, 96)},
        {"norm": torch.randn(96)},
        {"scale": torch.tensor(2.5)},
        {"scale": torch.tensor([2.0])},
        {"more": torch.zeros(1)},
        {"norm": model().tensors["norm"].double()},
    ],
)
def test_another_model_has_another_digest(changed):
    assert weights_digest(model(**changed)) != weights_digest(model())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.int8, torch.bool])
def test_every_dtype(dtype):
    values = torch.arange(-50, 50).reshape(10, 10)
    one, other = (Reader(t=(values + shift).to(dtype)) for shift in (0, 50))
    assert weights_digest(one) != weights_digest(other)


def test_little_is_read():
    reader = model()
    weights_digest(reader)
    assert reader.read_bytes < 0.02 * sum(one.nbytes for one in reader.tensors.values())


def test_empty_tensors():
    assert weights_digest(Reader(t=torch.empty(0, 4))) != weights_digest(Reader(t=torch.empty(0, 5)))
