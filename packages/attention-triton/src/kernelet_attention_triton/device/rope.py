"""Rotates queries and keys by their positions, and stores keys and values, in one pass."""

from __future__ import annotations

import triton
import triton.language as tl

from kernelet_attention_triton.device.write import put
from kernelet_device_triton.device.rotation import rotated

# fmt: off


@triton.jit
def rope_write_kv(
    qkv: tl.tensor, query: tl.tensor, cos: tl.tensor, sin: tl.tensor, cache: tl.tensor, scales: tl.tensor,
    slots: tl.tensor, num_tokens: tl.tensor, rope_stride: tl.tensor, key_scale: tl.tensor, value_scale: tl.tensor,
    num_heads: tl.constexpr, num_kv_heads: tl.constexpr, head_size: tl.constexpr, rotary_size: tl.constexpr,
    block_size: tl.constexpr, block_r: tl.constexpr, block_d: tl.constexpr,
    element: tl.constexpr, interleaved: tl.constexpr,
) -> None:
    """Grid: rows of a token and head, ``block_r`` a program.

    Args:
        qkv: [tokens, num_heads + 2 * num_kv_heads, head_size].
        query: [tokens, num_heads, head_size], of the result.
        cos: float32 [tokens, rotary_size]; tokens lie ``rope_stride`` apart.
        sin: The same; negative where the rotation subtracts.
        cache: See ``write_kv``, as for those that follow.
        scales: See there.
        slots: int64 [tokens].
        num_tokens: Of the step.
        rope_stride: Elements.
        key_scale: Of a tensor, where elements are e4m3fn.
        value_scale: The same of values.
    """
    heads: tl.constexpr = num_heads + 2 * num_kv_heads
    index = tl.program_id(0) * block_r + tl.arange(0, block_r)
    token, head = (index // heads).to(tl.int64), index % heads
    valid = token < num_tokens
    place = tl.arange(0, block_d)
    row = index.to(tl.int64) * head_size
    fits = valid[:, None] & (place < head_size)[None, :]
    given = tl.load(qkv + row[:, None] + place[None, :], mask=fits, other=0.0)
    turns = valid & (head < num_heads + num_kv_heads)
    begin = token * rope_stride
    turned = rotated(given.to(tl.float32), qkv, row, turns, cos, sin, begin, rotary_size, block_d, interleaved)
    vectors = turned.to(qkv.dtype.element_ty)
    is_query = valid & (head < num_heads)
    into = (token * num_heads + head) * head_size
    tl.store(query + into[:, None] + place[None, :], vectors, mask=fits & is_query[:, None])

    slot = tl.load(slots + token, mask=valid, other=0)
    kv_head = tl.maximum(head - num_heads, 0)  # keys of all heads, then values
    is_value = kv_head >= num_kv_heads
    where = (slot // block_size * (2 * num_kv_heads) + kv_head) * block_size + slot % block_size
    scale = tl.where(is_value, value_scale, key_scale)
    put(
        vectors.to(tl.float32),
        cache,
        scales,
        where,
        valid & (head >= num_heads),
        scale[:, None],
        head_size,
        block_d,
        element,
    )
