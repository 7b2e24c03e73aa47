"""What the op does not give to its kernel; the suite tests the rest."""

from __future__ import annotations

import torch

from kernelet.contracts.attention import AttentionSpec
from kernelet.layers.attention import QKVHeads
from kernelet.layers.rotary import RopeRows
from kernelet.testing.attention.reference import SlowAttention
from kernelet_attention_triton.ops import qkv_rope_write

SPEC = AttentionSpec(kind="full", num_heads=2, num_kv_heads=1, head_size=4, dtype="float32", block_size=4, scale=1.0)


class Recording(SlowAttention):
    def write_kv(self, key, value, cache, metadata):
        cache.append((key.clone(), value.clone()))


def test_the_cache_of_another_attention_is_written_by_it():
    qkv, heads = torch.randn(3, 16), QKVHeads(num_heads=2, num_kv_heads=1, head_size=4, clip=0.5)
    angle = torch.randn(3, 1, 2)
    rope = RopeRows(torch.cat((angle.cos(), angle.cos()), -1), torch.cat((-angle.sin(), angle.sin()), -1), False)
    given, cache = qkv.clone(), []
    query = qkv_rope_write(qkv, heads, rope, Recording(SPEC), cache, None)
    ((key, value),) = cache
    clipped = given.clamp(-0.5, 0.5).view(3, 4, 4)
    assert torch.equal(value, clipped[:, 3:])
    turned = clipped[:, :3] * rope.cos + clipped[:, :3].roll(2, -1) * rope.sin
    torch.testing.assert_close(torch.cat((query, key), 1), turned)
