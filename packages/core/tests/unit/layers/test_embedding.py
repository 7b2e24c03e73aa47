from __future__ import annotations

import dataclasses

import pytest
import torch

from kernelet.layers.embedding import Embedding, Head, TiedEmbedding
from kernelet.testing.tensors import make_context

TABLE = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
STATES = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))


def loaded(layer, value=TABLE):
    layer.weight.write("weight", value)
    layer.finish()
    return layer


def test_embedding_takes_rows_times_scale():
    layer = loaded(Embedding(make_context(), "embed", 6, 4, scale=3.0))
    assert torch.equal(layer.forward(torch.tensor([5, 0])), TABLE[[5, 0]] * 3.0)


@pytest.mark.parametrize("dtype, given", [("float64", "float32"), ("bfloat16", "float32"), ("float32", "bfloat16")])
def test_rows_of_another_dtype_become_wide(dtype, given, monkeypatch):
    layer = loaded(Embedding(make_context(dtype=getattr(torch, dtype)), "embed", 6, 4))
    rows = TABLE[[5, 0]].to(getattr(torch, given))
    monkeypatch.setattr(layer, "rows", lambda ids: rows)
    found = layer.forward(torch.tensor([5, 0]))
    assert found.dtype is (torch.float64 if dtype == "float64" else torch.float32)
    assert torch.equal(found, rows.to(found.dtype))


def test_scale_is_rounded_to_the_dtype_where_asked():
    scale = 5.65685424949238
    context = make_context(dtype=torch.bfloat16)
    assert Embedding(context, "a", 6, 4, scale=scale).scale == scale
    assert Embedding(context, "b", 6, 4, scale=scale, round_scale=True).scale == 5.65625


def test_head_scales_then_caps():
    layer = loaded(Head(make_context(), "head", 6, 4, scale=2.0, soft_cap=1.5))
    expected = 1.5 * torch.tanh(STATES @ TABLE.T * 2.0 / 1.5)
    torch.testing.assert_close(layer.forward(STATES), expected)


def test_head_keeps_the_models_dtype_and_adds_its_bias():
    layer = Head(make_context(dtype=torch.bfloat16), "head", 6, 4, bias=True, soft_cap=5.0)
    layer.bias_weight.write("bias", torch.arange(6.0))
    loaded(layer)
    plain = (STATES.bfloat16().double() @ TABLE.bfloat16().double().T + torch.arange(6.0)).bfloat16()
    found = layer.forward(STATES.bfloat16())
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, (5.0 * torch.tanh(plain.float() / 5.0)).bfloat16())


@pytest.mark.parametrize("size", [1, 2, 3])
def test_ranks_share_the_vocabulary_of_a_tied_head(size):
    parts, rows = [], []

    class Gather:
        def all_gather(self, tensor, axis):
            parts.append(tensor)
            return tensor

        def all_reduce(self, tensor):
            rows.append(tensor)
            return tensor

    ids = torch.tensor([2, 5, 0, 2])
    for rank in range(size):
        context = make_context(rank=rank, size=size, communicator=Gather())
        embedding = TiedEmbedding(context, "embed", 6, 4)
        head = Head(context, "head", 6, 4, tied=True)
        embedding.tie(head)
        loaded(embedding)
        head.finish()
        head.forward(STATES)
        found = embedding.forward(ids)
        assert size > 1 or torch.equal(found, TABLE[ids])
    assert size == 1 or torch.equal(sum(rows), TABLE[ids])
    torch.testing.assert_close(torch.cat(parts, -1), STATES @ TABLE.T)


def test_a_tied_head_has_no_weight_and_shares_memory():
    context = make_context()
    embedding, head = TiedEmbedding(context, "embed", 6, 4), Head(context, "head", 6, 4, tied=True)
    embedding.tie(head)
    assert list(head.weights()) == []
    assert list(embedding.modules()) == [embedding]
    loaded(embedding)
    assert head.prepared.data_ptr() == embedding.prepared.data_ptr()


class ReadsRows:
    """Keeps a weight transposed, and reads its rows back."""

    def has_rows(self, dtype):
        return dtype == "float32"

    def prepare(self, weights):
        return weights["weight"].T.contiguous()

    def apply(self, x, prepared, bias):
        return x @ prepared

    def rows(self, ids, prepared):
        return prepared.T[ids]


class Alone:
    def all_reduce(self, tensor):
        return tensor


@pytest.mark.parametrize("dtype, size, once", [("float32", 1, True), ("float64", 1, False), ("float32", 2, True)])
def test_a_table_is_held_once_where_the_head_reads_its_rows(monkeypatch, dtype, size, once):
    context = make_context(dtype=getattr(torch, dtype), size=size, communicator=Alone() if size > 1 else None)
    embedding, head = TiedEmbedding(context, "embed", 6, 4, scale=3.0), Head(context, "head", 6, 4, tied=True)
    kernel = ReadsRows()
    head.kernel = kernel
    head.served.groups = (dataclasses.replace(head.served.groups[0], kernel=kernel),)
    embedding.tie(head)
    loaded(embedding)
    assert (embedding.prepared is None) == once
    mine = torch.tensor([[1.0 if size == 1 else 0.0], [1.0]])  # of the other rank are zeros
    assert torch.equal(embedding.forward(torch.tensor([5, 0])), (TABLE[[5, 0]] * mine).to(context.dtype) * 3.0)
    torch.testing.assert_close(
        head.kernel.apply(STATES.to(context.dtype), head.prepared, None),
        (STATES.double() @ TABLE.double().T)[:, : 6 // size].to(context.dtype),
    )
