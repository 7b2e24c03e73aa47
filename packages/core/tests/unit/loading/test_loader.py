from __future__ import annotations

import io

import pytest
import torch

from kernelet.contracts.model import WeightReader
from kernelet.errors import WeightsError
from kernelet.layers.linear import MergedLinear, ReplicatedLinear
from kernelet.layers.weights import finish
from kernelet.loading.loader import fill, load
from kernelet.loading.mapping import WeightMap, plain, split
from kernelet.loading.progress import Progress
from kernelet.testing.tensors import make_context


class Tensors(WeightReader):
    def __init__(self, tensors):
        self.tensors = tensors

    def names(self):
        return sorted(self.tensors)

    def shape(self, name):
        return tuple(self.tensors[name].shape)

    def read(self, name, rows=None):
        return self.tensors[name]

    def nbytes(self, name=None):
        return sum(tensor.nbytes for key, tensor in self.tensors.items() if name in {None, key})


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        context = make_context()
        self.merged = MergedLinear(context, "merged", 2, {"gate": 3, "up": 3})
        self.last = ReplicatedLinear(context, "last", 2, 4)

    def load_weights(self, reader):
        targets = split(self.merged.weight, ["gate", "up"]) | plain(self.last.weight, "last")
        yield from fill(reader, WeightMap(targets=targets, ignored={"skip.*": "not needed"}))
        finish(self)


def checkpoint(**changes):
    tensors = {"gate": torch.ones(3, 2), "up": torch.zeros(3, 2), "last": torch.ones(4, 2), "skipped": torch.ones(1)}
    return Tensors({name: value for name, value in (tensors | changes).items() if value is not None})


def test_everything_is_loaded_and_counted():
    model, reader = Small(), checkpoint()
    with Progress("x", 0, io.StringIO()) as progress:
        load(model, reader, progress)
    assert model.merged.prepared.tolist() == [[1.0, 1.0]] * 3 + [[0.0, 0.0]] * 3
    assert model.last.prepared is not None
    assert progress.done == reader.nbytes()


def test_every_name_is_yielded_weight_by_weight():
    assert list(Small().load_weights(checkpoint())) == ["gate", "up", "last", "skipped"]


def test_a_missing_tensor_is_named():
    with pytest.raises(WeightsError, match="misses up"):
        load(Small(), checkpoint(up=None))


def test_an_unexpected_tensor_is_named_with_what_is_missing():
    with pytest.raises(WeightsError, match=r"nothing takes other; missing are last"):
        load(Small(), checkpoint(last=None, other=torch.ones(1)))


def test_many_names_are_cut_short():
    extra = {f"x{i:02}": torch.ones(1) for i in range(30)}
    with pytest.raises(WeightsError, match=r"x07 and 22 more"):
        load(Small(), checkpoint(**extra))


def test_a_wrong_shape_is_named():
    with pytest.raises(WeightsError, match=r"last has shape \[4, 3\]"):
        load(Small(), checkpoint(last=torch.ones(4, 3)))


def test_a_fused_tensor_of_a_wrong_shape_is_named_before_it_is_reordered():
    from kernelet.loading.mapping import interleaved

    layer = MergedLinear(make_context(), "qkv", 2, {"q": 4, "k": 4, "v": 4})
    targets = WeightMap(targets=interleaved(layer.weight, "fused", 2))
    with pytest.raises(WeightsError, match=r"fused has shape \[11, 2\]"):
        list(fill(Tensors({"fused": torch.ones(11, 2)}), targets))
