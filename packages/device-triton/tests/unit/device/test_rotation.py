from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from kernelet.layers.elementary import rotary
from kernelet.layers.rotary import RopeRows
from kernelet_device_triton.device.rotation import rotated


@triton.jit
def rotate(x, out, cos, sin, number, size: tl.constexpr, rotary_size: tl.constexpr, interleaved: tl.constexpr):
    row, place = tl.arange(0, 8), tl.arange(0, 16)
    fits = (row < number)[:, None] & (place < size)[None, :]
    given = tl.load(x + (row * size)[:, None] + place[None, :], mask=fits, other=0.0)
    turned = rotated(given, x, row * size, row < number, cos, sin, row * rotary_size, rotary_size, 16, interleaved)
    tl.store(out + (row * size)[:, None] + place[None, :], turned, mask=fits)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("rotary_size", [8, 12])
def test_rotates_as_the_decoder_does(interleaved, rotary_size):
    number, size = 5, 12
    x, cos, sin = torch.randn(number, size), torch.randn(number, rotary_size), torch.randn(number, rotary_size)
    found = torch.empty_like(x)
    rotate[1,](x, found, cos, sin, number, size=size, rotary_size=rotary_size, interleaved=interleaved)
    rope = RopeRows(cos[:, None], sin[:, None], interleaved)
    torch.testing.assert_close(found, rotary(x[:, None].clone(), rope)[:, 0], rtol=1e-6, atol=1e-6)
