from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from kernelet_ops_triton.device.norms import add_norm, norm


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("size", [16, 45])
def test_norm(centered, size):
    rows, eps = 7, 1e-5
    x, weight, bias = torch.randn(rows, size) + 3, torch.randn(size), torch.randn(size)
    found = torch.empty_like(x)
    norm[2,](
        x, weight, bias, found, rows, 1, size, 0, eps,
        size=size, centered=centered, has_bias=centered, block_m=4, block_n=64,
    )  # fmt: skip
    if centered:
        wanted = functional.layer_norm(x, (size,), weight, bias, eps)
    else:
        wanted = functional.rms_norm(x, (size,), weight, eps)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


def test_norm_of_a_sum():
    rows, size, scale, eps = 5, 32, 0.5, 1e-6
    residual, x = torch.randn(rows, size), torch.randn(rows, size).to(torch.bfloat16)
    weight = torch.randn(size)
    total, found = torch.empty_like(residual), torch.empty_like(x)
    add_norm[2,](
        residual, x, weight, weight, total, found, rows, size, size, scale, eps,
        size=size, centered=False, has_bias=False, block_m=4, block_n=32,
    )  # fmt: skip
    wanted = residual + scale * x.float()
    torch.testing.assert_close(total, wanted, rtol=1e-6, atol=1e-6)
    exact = functional.rms_norm(wanted, (size,), weight, eps)
    torch.testing.assert_close(found, exact.to(torch.bfloat16), rtol=2**-8, atol=2**-8)
