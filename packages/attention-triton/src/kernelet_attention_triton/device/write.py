"""Stores keys and values of a step in a paged cache."""

from __future__ import annotations

import triton
import triton.language as tl

from kernelet_device_triton.device.elements import E4M3FN, INT8, scale_of_rows, to_e4m3fn, to_int8


@triton.jit
def put(
    vectors: tl.tensor,
    cache: tl.tensor,
    scales: tl.tensor,
    row: tl.tensor,
    valid: tl.tensor,
    scale: tl.tensor,
    head_size: tl.constexpr,
    block_d: tl.constexpr,
    element: tl.constexpr,
) -> None:
    """[rows, block_d], float32 -> rows of a cache."""
    place = tl.arange(0, block_d)
    fits = valid[:, None] & (place < head_size)[None, :]
    into = cache + row[:, None] * head_size + place[None, :]
    if element == E4M3FN:
        tl.store(into, to_e4m3fn(tl.div_rn(vectors, scale)), mask=fits)
    elif element == INT8:
        own = scale_of_rows(vectors)
        tl.store(into, to_int8(vectors, own), mask=fits)
        tl.store(scales + row, own, mask=valid)
    else:
        tl.store(into, vectors.to(cache.dtype.element_ty), mask=fits)


@triton.jit
def write_kv(
    key: tl.tensor,
    value: tl.tensor,
    cache: tl.tensor,
    scales: tl.tensor,
    slots: tl.tensor,
    num_tokens: tl.tensor,
    key_stride: tl.tensor,
    value_stride: tl.tensor,
    key_scale: tl.tensor,
    value_scale: tl.tensor,
    num_kv_heads: tl.constexpr,
    head_size: tl.constexpr,
    block_size: tl.constexpr,
    block_r: tl.constexpr,
    block_d: tl.constexpr,
    element: tl.constexpr,
    is_latent: tl.constexpr,
) -> None:
    """Grid: rows of a token and head, ``block_r`` a program.

    Args:
        key: [tokens, kv_heads, head_size]; tokens lie ``key_stride`` apart.
        value: The same.
        cache: [block, key or value, kv_head, token, head_size].
        scales: float32 [block, key or value, kv_head, token], where elements are int8.
        slots: int64 [tokens].
        num_tokens: Of the step.
        key_stride: Elements.
        value_stride: Elements.
        key_scale: Of a tensor, where elements are e4m3fn.
        value_scale: The same of values.
        is_latent: There are no values, here and in the cache.
    """
    vectors: tl.constexpr = 1 if is_latent else 2
    index = tl.program_id(0) * block_r + tl.arange(0, block_r)
    token, head = (index // num_kv_heads).to(tl.int64), index % num_kv_heads
    valid = token < num_tokens
    place = tl.arange(0, block_d)
    fits = valid[:, None] & (place < head_size)[None, :]
    slot = tl.load(slots + token, mask=valid, other=0)
    row = (slot // block_size * (vectors * num_kv_heads) + head) * block_size + slot % block_size
    inside = (head * head_size)[:, None] + place[None, :]
    keys = tl.load(key + (token * key_stride)[:, None] + inside, mask=fits, other=0.0).to(tl.float32)
    put(keys, cache, scales, row, valid, key_scale, head_size, block_d, element)
    if not is_latent:
        values = tl.load(value + (token * value_stride)[:, None] + inside, mask=fits, other=0.0).to(tl.float32)
        put(values, cache, scales, row + num_kv_heads * block_size, valid, value_scale, head_size, block_d, element)
