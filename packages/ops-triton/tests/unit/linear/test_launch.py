from __future__ import annotations

import pytest
import torch

from kernelet_ops_triton.linear.launch import Form, Prepared, multiply
from kernelet_ops_triton.linear.tiles import tiles_of


def prepared(*shape):
    weight = torch.randn(*shape)
    return Prepared(form=Form(outputs=shape[-2], inputs=shape[-1]), weight=weight)


def test_a_row_has_the_same_bits_in_every_batch():
    """Across the heights of tiles that other modes have."""
    one, x = prepared(40, 70), torch.randn(300, 70)
    among = multiply(x, one, dtype=x.dtype, batch_invariant=True)
    for part in (slice(0, 1), slice(13, 33), slice(200, 300)):
        assert torch.equal(multiply(x[part], one, dtype=x.dtype, batch_invariant=True), among[part])


@pytest.mark.parametrize("rows", [1, 17, 300])
def test_each_height_of_tiles(rows):
    one, x, bias = prepared(40, 70), torch.randn(rows, 70), torch.randn(40)
    found = multiply(x, one, dtype=x.dtype, bias=bias)
    torch.testing.assert_close(found, x @ one.weight.T + bias, rtol=1e-5, atol=2e-5)


def test_experts_at_once():
    experts, x = prepared(3, 20, 32), torch.randn(30, 32)
    tiles = tiles_of(torch.tensor([0] * 20 + [2] * 10), 3, 16)
    found = multiply(x, experts, dtype=x.dtype, tiles=tiles)
    alone = [multiply(x[part], experts.of_expert(e), dtype=x.dtype) for e, part in ((0, slice(20)), (2, slice(20, 30)))]
    torch.testing.assert_close(found, torch.cat(alone), rtol=1e-6, atol=1e-6)
