from __future__ import annotations

import pytest
import torch

from kernelet_attention_triton.device.write import write_kv
from kernelet_device_triton.device.elements import PLAIN


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_each_token_goes_to_its_slot_and_nowhere_else(dtype):
    """More tokens than one program stores; keys and values as views of one tensor."""
    tokens, heads, size, block = 11, 3, 10, 4
    fused = torch.randn(tokens, 2 * heads, size, generator=torch.Generator().manual_seed(0)).to(getattr(torch, dtype))
    key, value = fused.split(heads, 1)
    slots = torch.randperm(5 * block, generator=torch.Generator().manual_seed(1))[:tokens] + block
    cache = torch.full((6, 2, heads, block, size), 7.0, dtype=fused.dtype)
    wanted = cache.clone()
    for token, slot in enumerate(slots.tolist()):
        wanted[slot // block, 0, :, slot % block] = key[token]
        wanted[slot // block, 1, :, slot % block] = value[token]
    write_kv[3,](
        key, value, cache, cache, slots, tokens, key.stride(0), value.stride(0), 1.0, 1.0,
        num_kv_heads=heads, head_size=size, block_size=block, block_r=16, block_d=16, element=PLAIN.value,
        is_latent=False,
    )  # fmt: skip
    assert torch.equal(cache, wanted)
