"""The op that makes a step's queries, keys and values, in one kernel with the cache; see ``kernelet.layers.ops``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kernelet.layers import composite, elementary
from kernelet_attention_triton import configurations
from kernelet_attention_triton.attention import TritonAttention
from kernelet_attention_triton.configurations import padded
from kernelet_attention_triton.device.rope import rope_write_kv
from kernelet_device_triton.targets import target_of

if TYPE_CHECKING:
    from kernelet.contracts.attention import Attention
    from kernelet.layers.attention import QKVHeads
    from kernelet.layers.rotary import RopeRows


def qkv_rope_write(
    qkv: Tensor, heads: QKVHeads, rope: RopeRows | None, attention: Attention, cache: Any, metadata: Any
) -> Tensor:
    """Rotates, stores keys and values, and returns the queries.

    Layers that do not rotate, or whose cache is another attention's, are decomposed.
    """
    if rope is None or not isinstance(attention, TritonAttention) or not len(qkv):
        ops: Any = elementary
        return composite.qkv_rope_write(ops, qkv, heads, rope, attention, cache, metadata)
    qkv = _normed(qkv, heads).contiguous()
    query = qkv.new_empty(len(qkv), heads.num_heads, heads.head_size)
    rows = len(qkv) * (heads.num_heads + 2 * heads.num_kv_heads)
    block_r = configurations.rows_of_write(target_of(qkv.device), heads.head_size)
    cos, sin = rope.cos, rope.sin
    if cos.stride(0) != sin.stride(0) or cos.stride(-1) != 1 or sin.stride(-1) != 1:
        cos, sin = cos.contiguous(), sin.contiguous()
    rope_write_kv[-(-rows // block_r),](
        qkv,
        query,
        cos,
        sin,
        cache[0],
        cache[-1],
        metadata.slots,
        len(qkv),
        cos.stride(0),
        *attention.scales,
        num_heads=heads.num_heads,
        num_kv_heads=heads.num_kv_heads,
        head_size=heads.head_size,
        rotary_size=cos.shape[-1],
        block_size=attention.spec.block_size,
        block_r=block_r,
        block_d=padded(heads.head_size),
        element=attention.element,
        interleaved=rope.interleaved,
        enable_fp_fusion=False,
    )
    return query


def _normed(qkv: Tensor, heads: QKVHeads) -> Tensor:
    """Clamped, and with queries and keys normed, where the layer has that."""
    if heads.clip is not None:
        qkv = qkv.clamp(-heads.clip, heads.clip)
    if heads.q_norm is None or heads.k_norm is None:
        return qkv
    queries, keys = heads.num_heads * heads.head_size, heads.num_kv_heads * heads.head_size
    parts = list(qkv.split((queries, keys, keys), 1))
    for index, norm in enumerate((heads.q_norm, heads.k_norm)):
        part = parts[index]
        vectors = part if heads.whole else part.unflatten(1, (-1, heads.head_size))
        parts[index] = norm.forward(vectors).flatten(1)
    return torch.cat(parts, 1)
