"""The repaired interpreter against torch, on bfloat16 and on what is rounded to 8 bits."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from kernelet_device_triton.interpreter import interpreting, repair

SIZE = 256


@pytest.fixture(autouse=True)
def _repaired():
    repair()
    assert interpreting()


@triton.jit
def elementwise(a, b, out, size: tl.constexpr):
    place = tl.arange(0, size)
    x, y = tl.load(a + place), tl.load(b + place)
    tl.store(out + place, x + y)
    tl.store(out + size + place, x * y)
    tl.store(out + 2 * size + place, tl.where(x > y, x, y))
    tl.store(out + 3 * size + place, tl.maximum(-x, y))
    tl.store(out + 4 * size + place, tl.full([size], 0, tl.bfloat16) + tl.sum(x.to(tl.float32), 0).to(tl.bfloat16))
    tl.store(out + 5 * size + place, tl.full([size], 0, tl.bfloat16) + tl.max(x, 0))
    tl.store(out + 6 * size + place, (place * 3).to(tl.bfloat16))


@triton.jit
def product(a, b, out):
    row, column = tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :]
    x, y = tl.load(a + row * 16 + column), tl.load(b + row * 16 + column)
    tl.store(out + row * 16 + column, tl.dot(x, y))


@triton.jit
def cast(a, out, size: tl.constexpr):
    place = tl.arange(0, size)
    tl.store(out + place, tl.load(a + place).to(out.dtype.element_ty))


def random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape))).to(torch.bfloat16)


def test_arithmetic():
    a, b = random(SIZE), random(1, SIZE)[0]
    found = torch.empty(7, SIZE, dtype=torch.bfloat16)
    elementwise[1,](a, b, found, size=SIZE)
    total = a.float().sum().to(torch.bfloat16).expand(SIZE)
    wanted = (a + b, a * b, torch.maximum(a, b), torch.maximum(-a, b))
    for row, one in zip(found, (*wanted, total, a.max().expand(SIZE), 3 * torch.arange(SIZE)), strict=True):
        torch.testing.assert_close(row, one.to(torch.bfloat16), rtol=2**-7 if one is total else 0, atol=0)


def test_product():
    a, b = random(16, 16), random(16, 1, 16)[:, 0]
    found = torch.empty(16, 16)
    product[1,](a, b, found)
    torch.testing.assert_close(found, a.float() @ b.float(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16"])
def test_casts_round_to_the_nearest(dtype):
    to = getattr(torch, dtype)
    a = torch.cat((torch.linspace(-3, 3, SIZE - 4), torch.tensor([1e-9, -0.0, 500.0, torch.nan])))
    found = torch.empty(SIZE, dtype=to)
    cast[1,](a, found, size=SIZE)
    limit = torch.finfo(to).max
    wanted = a.clamp(-limit, limit).to(to).float()
    assert torch.equal(found.float().nan_to_num(9.0), wanted.nan_to_num(9.0))
