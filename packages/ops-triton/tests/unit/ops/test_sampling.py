from __future__ import annotations

import math

import torch

from kernelet.sampling import ops as plain
from kernelet.sampling.ops import Draws
from kernelet_ops_triton.ops.sampling import apply_token_mask, packed, sample


def draws_of(rows, random):
    temperature = torch.tensor([0.0, 0.7, 1.3])[torch.randint(3, (rows,), generator=random)].double()
    top_k = torch.tensor([0, 3, 20])[torch.randint(3, (rows,), generator=random)]
    top_p = torch.tensor([1.0, 0.8])[torch.randint(2, (rows,), generator=random)].double()
    return Draws(temperature, top_k, top_p, torch.zeros(rows).double(), torch.rand(rows, generator=random).double())


def test_random_rows_give_the_tokens_of_the_decomposition():
    """Numbers that lie near a border of two tokens are so rare that these seeds meet none."""
    random = torch.Generator().manual_seed(5)
    logits = (torch.randn(24, 300, generator=random) * 3).to(torch.bfloat16)
    draws = draws_of(24, random)
    found, wanted = sample(logits, draws), plain.sample(logits, draws)
    assert torch.equal(found[0], wanted[0]) and torch.equal(found[1], wanted[1])


def test_a_row_has_the_same_token_in_every_batch():
    random = torch.Generator().manual_seed(6)
    logits, draws = torch.randn(20, 90, generator=random), draws_of(20, random)
    among, _ = sample(logits, draws)
    for part in (slice(0, 1), slice(7, 19)):
        columns = (getattr(draws, name)[part] for name in ("temperature", "top_k", "top_p", "min_p", "number"))
        assert torch.equal(sample(logits[part], Draws(*columns))[0], among[part])


def test_of_equal_tokens_the_first_is_the_best():
    logits = torch.zeros(2, 3000)
    logits[0, [2999, 1500, 44]] = 2.0
    assert sample(logits, None)[0].tolist() == [44, 0]


def test_the_distance_of_min_p_is_not_rounded_up():
    """A token exactly at it stays, one beyond it goes: the bound in float32 is the largest that the exact one has."""
    min_p = torch.rand(500, dtype=torch.float64)
    one = torch.ones(500, dtype=torch.float64)
    bound = packed(Draws(one, one.long(), one, min_p, one))[:, 3]
    exact = [-math.log(value) for value in min_p.tolist()]
    nearest = torch.nextafter(bound.float(), torch.tensor(torch.inf)).double()
    assert all(
        below <= value < above for below, value, above in zip(bound.tolist(), exact, nearest.tolist(), strict=True)
    )


def test_masks_change_logits_that_lie_apart():
    whole = torch.randn(4, 2, 40)
    logits, masks, rows = whole[:, 0], torch.tensor([[5, -1], [1 << 30, 0]], dtype=torch.int32), torch.tensor([3, 1])
    wanted = plain.apply_token_mask(logits.clone(), masks, rows)
    kept = whole[:, 1].clone()
    assert apply_token_mask(logits, masks, rows) is logits
    assert torch.equal(logits, wanted) and torch.equal(whole[:, 1], kept)
