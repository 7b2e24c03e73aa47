from __future__ import annotations

import io

import pytest
import torch

from kernelet.contracts.model import WeightReader
from kernelet.errors import WeightsError
from kernelet.layers.linear import MergedLinear, ReplicatedLinear, RowParallelLinear
from kernelet.layers.weights import finish
from kernelet.loading.loader import fill, load
from kernelet.loading.mapping import HeadOrder, Target, WeightMap, plain, split
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


@pytest.mark.parametrize("value, is_taken", [(0.0, True), (-0.0, True), (1e-30, False), (float("nan"), False)])
def test_a_bias_of_a_module_without_one_must_add_nothing(value, is_taken):
    layer = ReplicatedLinear(make_context(), "m", 2, 4)
    tensors = {"m.weight": torch.ones(4, 2), "m.bias": torch.zeros(4)}
    tensors["m.bias"][2] = value
    filled = fill(Tensors(tensors), WeightMap(targets=plain(layer.weight, "m.weight")))
    if is_taken:
        assert list(filled) == ["m.weight", "m.bias"]
    else:
        with pytest.raises(WeightsError, match=r"nothing takes m\.bias"):
            list(filled)


def test_a_bias_of_no_module_is_not_taken():
    tensors = {"m.weight": torch.ones(4, 2), "other.bias": torch.zeros(4)}
    layer = ReplicatedLinear(make_context(), "m", 2, 4)
    with pytest.raises(WeightsError, match=r"nothing takes other\.bias"):
        list(fill(Tensors(tensors), WeightMap(targets=plain(layer.weight, "m.weight"))))


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


class Named(Tensors):
    """Every tensor but ``anonymous`` is named by its own name; counts what is read."""

    def __init__(self, tensors, anonymous=""):
        super().__init__(tensors)
        self.read_names = []
        self.anonymous = anonymous

    def identity(self, name):
        return None if name == self.anonymous else f"content of {name}"

    def read(self, name, rows=None):
        self.read_names.append(name)
        return super().read(name, rows)


class Recalling:
    """Knows the content of its first tensor alone, in every place."""

    def __init__(self, weight, knows):
        self.weight = weight
        self.knows = knows
        self.asked = []

    def __getattr__(self, name):
        return getattr(self.weight, name)

    def piece(self, part=None):
        return self

    def recall(self, content):
        self.asked.append(content)
        return self.knows

    name = "w"


def two_weights(knows, transform=None):
    layer = MergedLinear(make_context(), "merged", 2, {"gate": 3, "up": 3})
    first, second = Recalling(layer.weight, knows), ReplicatedLinear(make_context(), "last", 2, 4).weight
    targets = {"gate": Target(weight=first, part="gate", transform=transform), "up": Target(weight=first, part="up")}
    return first, second, WeightMap(targets=targets | plain(second, "last"), ignored={"skip.*": "not needed"})


def test_what_is_known_is_not_read():
    first, second, weight_map = two_weights(True)
    reader, whole = Named(checkpoint().tensors), []
    assert list(fill(reader, weight_map, whole.append)) == ["gate", "up", "last", "skipped"]
    assert reader.read_names == ["last"]
    assert whole == [first, second]
    assert [text.count("content of") for text in first.asked] == [2]


def test_what_is_not_known_is_read():
    first, second, weight_map = two_weights(False)
    reader, whole = Named(checkpoint().tensors), []
    list(fill(reader, weight_map, whole.append))
    assert reader.read_names == ["gate", "up", "last"]
    assert whole == [first, second]
    assert first.missing() == []


@pytest.mark.parametrize("anonymous, transform", [("up", None), ("", lambda tensor: tensor)])
def test_nobody_is_asked_for_what_cannot_be_named(anonymous, transform):
    first, _, weight_map = two_weights(True, transform)
    reader = Named(checkpoint().tensors, anonymous)
    list(fill(reader, weight_map))
    assert first.asked == []
    assert reader.read_names == ["gate", "up", "last"]


def test_the_place_is_part_of_the_name():
    asked = set()
    for part, expert, heads in (("gate", None, None), ("up", None, None), ("gate", 1, None), ("gate", None, 3)):
        first, _, _ = two_weights(True)
        order = None if heads is None else HeadOrder(heads, 1)
        target = Target(weight=first, part=part, expert=expert, transform=order)
        list(fill(Named({"x": torch.ones(3, 2)}), WeightMap(targets={"x": target})))
        asked |= set(first.asked)
    assert len(asked) == 4


class Cut(Tensors):
    """Notes which rows were read."""

    def __init__(self, tensors):
        super().__init__(tensors)
        self.read_rows = {}

    def read(self, name, rows=None):
        self.read_rows[name] = rows
        return self.tensors[name] if rows is None else self.tensors[name][rows]


def of_rank(rank, tensors, transform=None):
    context = make_context(rank=rank, size=2)
    merged = MergedLinear(context, "merged", 2, {"gate": 4, "up": 4})
    down = RowParallelLinear(context, "down", 4, 3)
    fused = MergedLinear(context, "fused", 2, {"a": 2, "b": 4})
    targets = {
        "gate": Target(weight=merged.weight, part="gate", transform=transform),
        "up": Target(weight=merged.weight, part="up"),
        **plain(down.weight, "down"),
        **plain(fused.weight, "fused"),
    }
    reader = Cut(tensors)
    list(fill(reader, WeightMap(targets=targets)))
    return reader, [layer.weight.take() for layer in (merged, down, fused)]


def test_a_rank_reads_its_rows_where_they_are_one_range():
    shapes = {"gate": (4, 2), "up": (4, 2), "down": (3, 4), "fused": (6, 2)}
    tensors = {name: torch.randn(shape, generator=torch.Generator().manual_seed(3)) for name, shape in shapes.items()}
    for rank in range(2):
        reader, (merged, down, fused) = of_rank(rank, tensors)
        mine = slice(2 * rank, 2 * rank + 2)
        assert reader.read_rows == {"gate": mine, "up": mine, "down": None, "fused": None}
        assert torch.equal(merged, torch.cat([tensors["gate"][mine], tensors["up"][mine]]))
        assert torch.equal(down, tensors["down"][:, mine])
        a, b = tensors["fused"].split([2, 4])
        assert torch.equal(fused, torch.cat([a[rank : rank + 1], b[mine]]))


def test_what_is_transformed_is_read_whole():
    tensors = {"gate": torch.ones(4, 2), "up": torch.ones(4, 2), "down": torch.ones(3, 4), "fused": torch.ones(6, 2)}
    reader, _ = of_rank(0, tensors, transform=lambda tensor: tensor.flip(0))
    assert reader.read_rows["gate"] is None


def test_a_rank_checks_the_whole_shape():
    tensors = {"gate": torch.ones(8, 2), "up": torch.ones(4, 2), "down": torch.ones(3, 4), "fused": torch.ones(6, 2)}
    with pytest.raises(WeightsError, match=r"gate has shape \[8, 2\], but merged.weight takes \[4, 2\]"):
        of_rank(0, tensors)
    with pytest.raises(WeightsError, match=r"gate has shape \[\], but merged.weight takes \[4, 2\]"):
        of_rank(0, tensors | {"gate": torch.tensor(1.0)})
