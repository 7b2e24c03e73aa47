from __future__ import annotations

import pytest
import torch

from kernelet.layers.linear import (
    ColumnParallelLinear,
    MergedLinear,
    QKVLinear,
    ReplicatedLinear,
    RowParallelLinear,
)
from kernelet.testing.tensors import make_context

D = torch.float64
WEIGHT = torch.randn(24, 8, dtype=D, generator=torch.Generator().manual_seed(0))
BIAS = torch.randn(24, dtype=D, generator=torch.Generator().manual_seed(1))
X = torch.randn(5, 8, dtype=D, generator=torch.Generator().manual_seed(2))


class Sum:
    """Adds up what ranks computed one after the other."""

    def __init__(self):
        self.total = 0

    def all_reduce(self, tensor):
        self.total = self.total + tensor
        return self.total


def loaded(layer, weight=WEIGHT, bias=BIAS):
    layer.weight.write("weight", weight)
    if layer.bias_weight:
        layer.bias_weight.write("bias", bias)
    layer.finish()
    return layer


@pytest.mark.parametrize("bias", [True, False])
def test_replicated(bias):
    layer = loaded(ReplicatedLinear(make_context(dtype=D), "x", 8, 24, bias=bias))
    torch.testing.assert_close(layer.forward(X), X @ WEIGHT.T + (BIAS if bias else 0))
    assert layer.weight.tensor is None, "the kernel holds the only copy"


@pytest.mark.parametrize("size", [1, 2, 4])
def test_column_parallel_parts_put_together_are_the_whole(size):
    layers = [
        loaded(ColumnParallelLinear(make_context(dtype=D, rank=rank, size=size), "x", 8, 24, bias=True))
        for rank in range(size)
    ]
    torch.testing.assert_close(torch.cat([layer.forward(X) for layer in layers], -1), X @ WEIGHT.T + BIAS)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_row_parallel_parts_add_up_with_the_bias_once(size):
    weight, bias = WEIGHT[:6], BIAS[:6]
    total = Sum()
    for rank in range(size):
        context = make_context(dtype=D, rank=rank, size=size, communicator=total)
        layer = loaded(RowParallelLinear(context, "x", 8, 6, bias=True), weight, bias)
        found = layer.forward(X[:, rank * 8 // size : (rank + 1) * 8 // size])
    torch.testing.assert_close(found, X @ weight.T + bias)


@pytest.mark.parametrize("rank", [0, 1])
def test_merged_holds_this_ranks_part_of_each(rank):
    layer = loaded(MergedLinear(make_context(dtype=D, rank=rank, size=2), "x", 8, {"gate": 12, "up": 12}, bias=True))
    full = X @ WEIGHT.T + BIAS
    gate, up = full.chunk(2, -1)
    expected = torch.cat((gate.chunk(2, -1)[rank], up.chunk(2, -1)[rank]), -1)
    torch.testing.assert_close(layer.forward(X), expected)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_qkv_shares_heads_and_repeats_what_is_too_few(size):
    full = X @ WEIGHT.T
    query, key, value = full.split((16, 4, 4), -1)
    for rank in range(size):
        context = make_context(dtype=D, rank=rank, size=size)
        layer = loaded(QKVLinear(context, "x", 8, num_heads=8, num_kv_heads=2, head_size=2))
        kv_heads = max(2 // size, 1)
        first = rank * 2 // size
        assert (layer.num_heads, layer.num_kv_heads) == (8 // size, kv_heads)
        parts = [query.chunk(size, -1)[rank]]
        parts += [part[:, 2 * first : 2 * (first + kv_heads)] for part in (key, value)]
        torch.testing.assert_close(layer.forward(X), torch.cat(parts, -1))


def test_heads_that_cannot_be_shared_are_named():
    with pytest.raises(ValueError, match=r"model\.qkv"):
        QKVLinear(make_context(size=4), "model.qkv", 8, num_heads=12, num_kv_heads=3, head_size=2)
    with pytest.raises(ValueError, match=r"query heads.*6"):
        QKVLinear(make_context(size=4), "model.qkv", 8, num_heads=6, num_kv_heads=4, head_size=2)
