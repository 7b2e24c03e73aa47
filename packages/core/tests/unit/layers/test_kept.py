from __future__ import annotations

import pytest
import torch

from kernelet.contracts.op import PackedWeights
from kernelet.layers.embedding import Head, TiedEmbedding
from kernelet.layers.linear import MergedLinear, ReplicatedLinear
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
