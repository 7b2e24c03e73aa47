from __future__ import annotations

import pytest
import torch
from as_is import AsIs, InMemory, random_checkpoint

from kernelet.contracts.op import PackedWeights, ScaleLevel, WeightScheme
from kernelet.layers.embedding import Head, TiedEmbedding
from kernelet.layers.linear import MergedLinear, ReplicatedLinear
from kernelet.loading.loader import fill
from kernelet.loading.mapping import WeightMap, split
from kernelet.testing.plugin_view import ReferencePlugins
from kernelet.testing.tensors import make_context
from kernelet.testing.weight_kernel import ReferenceKernel


class Store(PackedWeights):
    def __init__(self):
        self.files = {}
        self.asked = []

    def load(self, key):
        self.asked.append(key)
        return self.files.get(key)

    def save(self, key, tensors):
        self.files[key] = {name: tensor.clone() for name, tensor in tensors.items()}


class Transposing(ReferenceKernel):
    """Keeps weights transposed."""

    name = "transposed"

    def layout(self, dtype):
        return f"{self.name} {dtype}"

    def prepare(self, weights):
        return weights["weight"].mT.contiguous()

    def export(self, prepared):
        return {"transposed": prepared}

    def restore(self, tensors):
        return tensors["transposed"]

    def apply(self, x, prepared, bias):
        return super().apply(x, prepared.mT, bias)

    def has_rows(self, dtype):
        return True

    def rows(self, ids, prepared):
        return prepared.mT[ids]


class OtherLayout(Transposing):
    name = "another"


def context_of(store, kernel=Transposing, **options):
    class Plugins(ReferencePlugins):
        def load(self, owned, target=""):
            loaded = super().load(owned, target)
            return kernel if loaded is ReferenceKernel else loaded

    context = make_context(plugins=Plugins(), **options)
    context.packed = store
    return context


def linear(store, kernel=Transposing, **options):
    return ReplicatedLinear(context_of(store, kernel, **options), "x", 2, 3)


WEIGHT = torch.arange(6.0).view(3, 2)


@pytest.fixture
def store():
    """What a first start kept of ``linear``."""
    store = Store()
    first = linear(store)
    assert not first.weight.recall("a")
    first.weight.write("x", WEIGHT)
    first.finish()
    assert [list(one) for one in store.files.values()] == [["transposed"]]
    return store


def test_what_was_prepared_is_found_again(store):
    second = linear(store)
    assert second.weight.recall("a")
    assert second.weight.missing() == []
    second.finish()
    assert torch.equal(second.forward(torch.eye(2)), WEIGHT.T)
    assert len(store.files) == 1


@pytest.mark.parametrize("other", ["content", "layout", "kernel", "dtype", "shape", "rank"])
def test_something_else_is_not_taken_for_it(store, other):
    class Derived(Transposing):
        pass

    again = {
        "content": lambda: linear(store),
        "layout": lambda: linear(store, OtherLayout),
        "kernel": lambda: linear(store, Derived),
        "dtype": lambda: linear(store, dtype=torch.float64),
        "shape": lambda: ReplicatedLinear(context_of(store), "x", 3, 2),
        "rank": lambda: MergedLinear(context_of(store, rank=1, size=2), "x", 2, {"": 6}),
    }[other]()
    assert not again.weight.recall("b" if other == "content" else "a")


def test_nothing_is_kept_of_a_weight_that_cannot_be_named():
    store = Store()
    layer = linear(store)
    layer.weight.write("x", WEIGHT)
    layer.finish()
    assert store.files == {}


def test_nothing_is_kept_of_a_kernel_without_a_layout():
    store = Store()
    layer = linear(store, ReferenceKernel)
    assert not layer.weight.recall("a")
    layer.weight.write("x", WEIGHT)
    layer.finish()
    assert (store.files, store.asked) == ({}, [])


def test_a_weight_that_was_begun_is_written_to_the_end():
    store = Store()
    for _ in range(2):
        layer = MergedLinear(context_of(store), "x", 2, {"gate": 1, "up": 2})
        layer.weight.recall("a")
        if layer.weight.missing():
            layer.weight.write("gate", WEIGHT[:1], "gate")
            assert not layer.weight.recall("a")
            layer.weight.write("up", WEIGHT[1:], "up")
        layer.finish()
        assert torch.equal(layer.forward(torch.eye(2)), WEIGHT.T)


def test_a_tied_table_is_kept_once():
    store = Store()
    for start in range(2):
        context = context_of(store)
        embedding, head = TiedEmbedding(context, "embed", 3, 2), Head(context, "head", 3, 2, tied=True)
        embedding.tie(head)
        assert embedding.weight.recall("a") == bool(start)
        if not start:
            embedding.weight.write("x", WEIGHT)
        embedding.finish()
        assert torch.equal(embedding.forward(torch.tensor([2, 0])), WEIGHT[[2, 0]])
        assert torch.equal(head.forward(torch.eye(2)), WEIGHT.T)
        assert len(store.files) == 1


def quantized(store, schemes, **identities):
    """A layer of a quantized checkpoint in two parts, loaded; and what was read for it."""
    context = context_of(store, Keeping)
    context.quantization = AsIs(schemes)
    layer = MergedLinear(context, "x", 2, {"gate": 3, "up": 4}, sources=["x.gate", "x.up"])
    stored, _ = random_checkpoint({"x.gate": (3, 2), "x.up": (4, 2)}, schemes)
    reader = InMemory(stored)
    reader.identity = lambda name: identities.get(name.replace(".", "_"), name)
    list(fill(reader, WeightMap(targets=split(layer.weight, ["x.gate.weight", "x.up.weight"]))))
    layer.finish()
    return layer, reader.read_names


class Keeping(ReferenceKernel):
    def layout(self, dtype):
        return "dequantized"

    def export(self, prepared):
        return {"whole": prepared}

    def restore(self, tensors):
        return tensors["whole"]


INT8 = WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),))
X = torch.randn(3, 2)


@pytest.mark.parametrize("schemes", [{"x.gate": INT8, "x.up": INT8}, {"x.gate": INT8}], ids=["alike", "differently"])
def test_what_was_made_of_a_quantized_checkpoint_is_found_again(schemes):
    store = Store()
    first, read = quantized(store, schemes)
    assert len(read) == (4 if len(schemes) == 2 else 3)
    second, read = quantized(store, schemes)
    assert read == []
    assert torch.equal(second.forward(X), first.forward(X))


def test_every_stored_tensor_is_part_of_the_name():
    store, both = Store(), {"x.gate": INT8, "x.up": INT8}
    quantized(store, both)
    for name in ("x_gate_weight", "x_gate_scales", "x_up_scales"):
        _, read = quantized(store, both, **{name: "another"})
        assert len(read) == 4
    _, read = quantized(store, {"x.gate": INT8}, x_gate_scales="another")
    assert sorted(read) == ["x.gate.scales", "x.gate.weight", "x.up.weight"]
    _, read = quantized(store, {"x.gate": INT8}, x_gate_scales="yet another")
    assert sorted(read) == ["x.gate.scales", "x.gate.weight"], "the other part is kept on its own"


def test_a_format_without_an_identity_is_not_kept(monkeypatch):
    monkeypatch.setattr(AsIs, "identity", lambda _self: "")
    store = Store()
    quantized(store, {"x.gate": INT8, "x.up": INT8})
    assert store.files == {}
