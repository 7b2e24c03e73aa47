from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from kernelet.contracts.attention import AttentionSpec
from kernelet.testing.attention.kept import encode
from kernelet_device_triton.device.elements import from_e4m3fn, scale_of_rows, to_e4m3fn, to_int8


@triton.jit
def encode_e4m3fn(x, out, size: tl.constexpr):
    place = tl.arange(0, size)
    tl.store(out + place, to_e4m3fn(tl.load(x + place)))


@triton.jit
def decode_e4m3fn(bits, out, native: tl.constexpr):
    place = tl.arange(0, 256)
    tl.store(out + place, from_e4m3fn(tl.load(bits + place), out.dtype.element_ty, native))


@triton.jit
def encode_int8(x, out, scales, rows: tl.constexpr, size: tl.constexpr):
    row = tl.arange(0, rows)
    place = row[:, None] * size + tl.arange(0, size)[None, :]
    vectors = tl.load(x + place)
    scale = scale_of_rows(vectors)
    tl.store(scales + row, scale)
    tl.store(out + place, to_int8(vectors, scale))


def test_e4m3fn_is_what_torch_rounds_to_and_saturates():
    """Every bfloat16, and numbers just beside the middle of two elements."""
    every = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(torch.bfloat16).float()
    codes = torch.arange(127, dtype=torch.uint8).view(torch.float8_e4m3fn).float()
    middle = (codes[1:] + codes[:-1]) / 2
    beside = torch.cat([middle * factor for factor in (1, 1 - 2**-20, 1 + 2**-20, -1)])
    x = torch.cat((every, beside, torch.zeros((1 << 17) - len(every) - len(beside))))
    found = torch.empty(len(x), dtype=torch.uint8)
    encode_e4m3fn[1,](x, found, size=len(x))
    wanted = x.clamp(-448, 448).to(torch.float8_e4m3fn)
    is_nan = x.isnan()
    assert torch.equal(found[~is_nan], wanted.view(torch.uint8)[~is_nan])
    assert bool(((found[is_nan] & 127) == 127).all())


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_every_e4m3fn_is_widened_exactly(dtype, native):
    bits = torch.arange(256, dtype=torch.int32).to(torch.uint8)
    found = torch.empty(256, dtype=getattr(torch, dtype))
    decode_e4m3fn[1,](bits, found, native=native)
    wanted = bits.view(torch.float8_e4m3fn).float()
    assert torch.equal(found.float()[~wanted.isnan()], wanted[~wanted.isnan()])
    assert torch.equal(found.isnan(), wanted.isnan())


def test_int8_is_the_definition():
    rows = torch.randn(32, 64, generator=torch.Generator().manual_seed(0))
    rows *= torch.logspace(-30, 30, 32)[:, None]
    rows[3] = 0
    rows[4] = 1e-44
    rows[5, 7] = torch.nan
    rows[6, 1] = torch.inf
    rows[7] = torch.arange(64) - 31.5  # ties
    rows[7, 0] = 127
    spec = AttentionSpec(
        kind="full",
        num_heads=1,
        num_kv_heads=1,
        head_size=64,
        dtype="float32",
        block_size=16,
        scale=1.0,
        cache_dtype="int8",
        cache_scales="token_head",
    )
    elements, scales = encode(rows, spec, 1.0)
    found, found_scales = torch.empty(32, 64, dtype=torch.int8), torch.empty(32)
    encode_int8[1,](rows, found, found_scales, rows=32, size=64)
    assert torch.equal(found_scales.nan_to_num(-1.0), scales.nan_to_num(-1.0))
    assert torch.equal(found.double(), elements)
