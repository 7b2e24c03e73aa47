from __future__ import annotations

import pytest
import torch

from kernelet_ops_triton.device.rounding import round_rows


@pytest.mark.parametrize("is_integer", [True, False])
@pytest.mark.parametrize("is_static", [False, True])
def test_rows_are_rounded_to_the_nearest(is_integer, is_static):
    rows, size = 5, 50
    x = torch.randn(rows, size) * torch.tensor([1.0, 1e-3, 300.0, 0.0, 1.0])[:, None]
    x[4, 7] = torch.inf
    most = 127.0 if is_integer else 448.0
    fixed = torch.tensor(0.01)
    out = torch.empty(rows, size, dtype=torch.int8 if is_integer else torch.uint8)
    scales = torch.empty(rows)
    round_rows[rows,](x, fixed, out, scales, size, size=size, is_static=is_static, is_integer=is_integer, block=32)
    scale = fixed.expand(rows, 1) if is_static else x.abs().amax(1, keepdim=True) / most
    steps = (x / torch.where(scale > 0, scale, 1)).clamp(-most, most)
    steps = steps.round() if is_integer else steps.to(torch.float8_e4m3fn).float()
    found = out.float() if is_integer else out.view(torch.float8_e4m3fn).float()
    assert torch.equal(found[:4], steps[:4])
    assert torch.equal(scales[:4], scale[:4, 0])
    assert scales[4].isnan()
