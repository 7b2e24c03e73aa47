from __future__ import annotations

import pytest
import torch

from kernelet.layers.elementary import rotary
from kernelet.layers.rotary import RopeRows
from kernelet_attention_triton.device.rope import rope_write_kv
from kernelet_device_triton.device.elements import PLAIN


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("interleaved", [False, True])
def test_queries_and_keys_are_rotated_and_values_are_not(dtype, interleaved):
    """Against the decoder's own rotation, of a part of each head; more rows than one program has."""
    tokens, heads, kv_heads, size, rotated, block = 7, 4, 2, 12, 8, 4
    generator = torch.Generator().manual_seed(0)
    qkv = torch.randn(tokens, heads + 2 * kv_heads, size, generator=generator).to(getattr(torch, dtype))
    angle = torch.randn(tokens, 1, rotated // 2, generator=generator)
    if interleaved:
        cos, sin = angle.cos().repeat_interleave(2, -1), torch.stack((-angle.sin(), angle.sin()), -1).flatten(-2)
    else:
        cos, sin = torch.cat((angle.cos(), angle.cos()), -1), torch.cat((-angle.sin(), angle.sin()), -1)
    slots = torch.randperm(5 * block, generator=generator)[:tokens] + block
    query = torch.empty(tokens, heads, size, dtype=qkv.dtype)
    cache = torch.full((6, 2, kv_heads, block, size), 7.0, dtype=qkv.dtype)
    wanted = cache.clone()
    both = rotary(qkv[:, : heads + kv_heads].clone(), RopeRows(cos, sin, interleaved))
    for token, slot in enumerate(slots.tolist()):
        wanted[slot // block, 0, :, slot % block] = both[token, heads:]
        wanted[slot // block, 1, :, slot % block] = qkv[token, heads + kv_heads :]
    rope_write_kv[4,](
        qkv, query, cos, sin, cache, cache, slots, tokens, rotated, 1.0, 1.0,
        num_heads=heads, num_kv_heads=kv_heads, head_size=size, rotary_size=rotated, block_size=block,
        block_r=16, block_d=16, element=PLAIN.value, interleaved=interleaved,
    )  # fmt: skip
    tolerance = {"float32": 1e-6, "bfloat16": 2**-7}[dtype]
    torch.testing.assert_close(query, both[:, :heads], rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(cache, wanted, rtol=tolerance, atol=tolerance)
    assert torch.equal(cache[:, 1], wanted[:, 1])
