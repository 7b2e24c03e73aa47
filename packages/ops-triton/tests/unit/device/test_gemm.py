"""What schemes are made of is tested in linear; here, what the kernel does with rows and tiles."""

from __future__ import annotations

import torch

from kernelet_ops_triton.device.gemm import gemm
from kernelet_ops_triton.linear.launch import Form

BLOCKS = {"block_m": 16, "block_n": 32, "block_k": 16, "native": True}


def test_tiles_of_experts():
    """Rows of three experts, the second without any, in tiles that are not full; a tile of no expert does nothing."""
    outputs, inputs = 40, 20
    x, weight = torch.randn(21, inputs), torch.randn(3, outputs, inputs)
    tiles = torch.tensor([[0, 0, 16], [0, 16, 18], [2, 18, 21], [2, 21, 21]], dtype=torch.int32)
    found = torch.full((21, outputs), torch.nan)
    form = Form(outputs=outputs, inputs=inputs)
    gemm[4 * 2,](
        x, weight, x, x, x, x, tiles, found, 21, 4, inputs,
        has_bias=False, grouped=True, **vars(form), **BLOCKS,
    )  # fmt: skip
    wanted = torch.cat((x[:18] @ weight[0].T, x[18:] @ weight[2].T))
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


def test_what_lies_behind_the_rows_stays():
    outputs, inputs = 33, 16
    x, weight, bias = torch.randn(5, inputs), torch.randn(outputs, inputs), torch.randn(outputs)
    found = torch.full((16, outputs), 7.0)
    form = Form(outputs=outputs, inputs=inputs)
    gemm[2,](
        x, weight, x, x, x, bias, x, found, 5, 1, inputs, has_bias=True, grouped=False, **vars(form), **BLOCKS
    )  # fmt: skip
    torch.testing.assert_close(found[:5], x @ weight.T + bias, rtol=1e-5, atol=1e-5)
    assert torch.equal(found[5:], torch.full((11, outputs), 7.0))
