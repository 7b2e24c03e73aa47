from __future__ import annotations

from dataclasses import replace

import torch

from kernelet.layers.linear import ReplicatedLinear
from kernelet.layers.norm import RMSNorm
from kernelet.layers.weights import Shard
from kernelet.testing.op.draw import Draw

DRAW = Draw(dtype=torch.bfloat16, rounded=torch.bfloat16, rows=[3, 1, 4])


def test_exact_numbers_are_the_rounded_ones():
    for is_wide in (False, True):
        found, exact = (draw.row("x", 5, is_wide=is_wide) for draw in (DRAW, DRAW.exact))
        assert (found.dtype, exact.dtype) == (torch.float32 if is_wide else torch.bfloat16, torch.float64)
        assert torch.equal(found.double(), exact)
    assert torch.equal(DRAW.weight("w", 2, 3).double(), DRAW.exact.weight("w", 2, 3))
    assert not torch.equal(DRAW.row("x", 5), DRAW.row("y", 5))


def test_rows_depend_on_their_seed_alone():
    other = replace(DRAW, rows=[9, 1, 8, 3])
    assert torch.equal(DRAW.row("x", 2, 3)[[0, 1]], other.row("x", 2, 3)[[3, 1]])
    assert torch.equal(DRAW.positions()[[0, 1]], other.positions()[[3, 1]])
    poisoned = replace(DRAW, poisoned=frozenset({1})).row("x", 5)
    assert poisoned[1].isnan().all() and torch.equal(poisoned[[0, 2]], DRAW.row("x", 5)[[0, 2]])


def test_layers_are_filled_by_name():
    made = []
    for draw in (DRAW, DRAW.exact):
        context = draw.context()
        assert context.dtype is draw.dtype
        linear, norm = ReplicatedLinear(context, "a", 64, 48), RMSNorm(context, "b", Shard.whole(64), 1e-5)
        draw.fill(linear, norm)
        made.append((linear.prepared, norm.weight))
    assert torch.equal(made[0][0].double(), made[1][0])
    assert torch.equal(made[0][1].double(), made[1][1])
    assert 0.1 < made[1][0].std() < 0.15
    assert 0.8 < made[1][1].mean() < 1.2
