"""Attention of tiles of queries over a paged cache.

A program computes one tile and key head: queries of one request that follow each other, each with all of its heads that
share the key head, as the rows of a matrix. Keys come in steps that begin at multiples of ``block_n`` of their
position, and in segments that begin at multiples of ``segment``; so neither depends on the other rows.

=========================  =====================================================================================
``query``                  [tokens, heads, head_size]; tokens lie ``query_stride`` apart
``cache``                  [block, key or value, kv_head, token, head_size]
``scales``                 float32 [block, key or value, kv_head, token], where elements are int8
``sinks``                  [heads], where there are any
``table``                  int32 [requests, blocks]; rows lie ``table_stride`` apart
``tiles``                  int32 [tiles, 4]: row of the table, first token of the step, tokens, position of the first
``out``                    [tokens, heads, head_size]
``part_sums``              float32 [tiles, block_m // group, heads, segments, head_size]
``part_stats``             float32 [tiles, block_m // group, heads, segments, 2]: largest score, sum of weights
``scale``, ``value_scale`` of products, with that of stored keys; of stored values
``low``, ``high``          keys [low, high) may be read, what else a block holds is another's
=========================  =====================================================================================
"""

from __future__ import annotations

import triton
import triton.language as tl

from kernelet_attention_triton.device.softmax import LOG2_E, above, capped, finish, join
from kernelet_device_triton.device.elements import E4M3FN, INT8, from_e4m3fn

WHOLE = tl.constexpr(0)
"""A program sees all keys of its tile, in one stretch."""
PARTS = tl.constexpr(1)
"""A program sees one segment, and another kernel joins them."""
JOINED = tl.constexpr(2)
"""A program sees all segments and joins them, with the bits that the other way has."""

# fmt: off


@triton.jit
def elements_of(
    tile: tl.tensor, dtype: tl.constexpr, element: tl.constexpr, native: tl.constexpr
) -> tl.tensor:
    """What a cache holds, as numbers of a dtype."""
    if element == E4M3FN:
        numbers = from_e4m3fn(tile, dtype, native)
    elif element == INT8:
        numbers = tile.to(tl.float32).to(dtype)
    else:
        numbers = tile
    return numbers


@triton.jit
def over_keys(
    query: tl.tensor, position: tl.tensor, cache: tl.tensor, scales: tl.tensor, blocks: tl.tensor, kv_head: tl.tensor,
    low: tl.tensor, high: tl.tensor, begin: tl.tensor, end: tl.tensor,
    scale: tl.tensor, soft_cap: tl.tensor, window: tl.tensor,
    num_kv_heads: tl.constexpr, head_size: tl.constexpr, block_size: tl.constexpr,
    block_m: tl.constexpr, block_n: tl.constexpr, block_d: tl.constexpr,
    element: tl.constexpr, native: tl.constexpr, has_window: tl.constexpr, has_cap: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """The softmax of a tile over keys [begin, end)."""
    largest = tl.full([block_m], float("-inf"), tl.float32)
    total = tl.zeros([block_m], tl.float32)
    summed = tl.zeros([block_m, block_d], tl.float32)
    place = tl.arange(0, block_d)
    for start in range(begin, end, block_n):
        key = start + tl.arange(0, block_n)
        inside = (key >= low) & (key < high)
        block = tl.load(blocks + key // block_size, mask=inside, other=0).to(tl.int64)
        row = (block * (2 * num_kv_heads) + kv_head) * block_size + key % block_size
        value_row = row + num_kv_heads * block_size
        fits = inside[:, None] & (place < head_size)[None, :]
        held = tl.load(cache + row[:, None] * head_size + place[None, :], mask=fits, other=0)
        keys = elements_of(held, query.dtype, element, native)
        scores = tl.dot(query, tl.trans(keys), input_precision="ieee") * scale
        if element == INT8:
            scores = scores * tl.load(scales + row, mask=inside, other=0.0)[None, :]
        if has_cap:
            scores = capped(scores, soft_cap)
        seen = inside[None, :] & (key[None, :] <= position[:, None])
        if has_window:
            seen = seen & (key[None, :] > position[:, None] - window)
        scores = tl.where(seen, scores * LOG2_E, float("-inf"))

        both = tl.maximum(largest, tl.max(scores, 1))
        base = above(both)
        weights = tl.exp2(scores - base[:, None])
        shrunk = tl.exp2(largest - base)
        total = total * shrunk + tl.sum(weights, 1)
        held = tl.load(cache + value_row[:, None] * head_size + place[None, :], mask=fits, other=0)
        if element == INT8:
            factor = tl.load(scales + value_row, mask=inside, other=0.0)
            values = (held.to(tl.float32) * factor[:, None]).to(query.dtype)
        else:
            values = elements_of(held, query.dtype, element, native)
        summed = tl.dot(weights.to(values.dtype), values, summed * shrunk[:, None], input_precision="ieee")
        largest = both
    return largest, total, summed


@triton.jit
def tile_of(
    tiles: tl.tensor, window: tl.tensor, group: tl.constexpr, block_m: tl.constexpr, has_window: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor, tl.tensor, tl.tensor]:
    """Of each row of the program's tile: its token of the step, position, head, whether it is one; then low, high."""
    mine = tiles + tl.program_id(0) * 4
    count, begin = tl.load(mine + 2), tl.load(mine + 3)
    row = tl.arange(0, block_m)
    valid = (row // group < count) & (row < block_m // group * group)
    token = tl.load(mine + 1).to(tl.int64) + row // group
    low = begin * 0
    if has_window:
        low = tl.maximum(begin - window + 1, 0)
    return token, begin + row // group, tl.program_id(1) * group + row % group, valid, low, begin + count


@triton.jit
def slots_of(
    head: tl.tensor, num_segments: tl.tensor, num_kv_heads: tl.constexpr, group: tl.constexpr, block_m: tl.constexpr
) -> tl.tensor:
    """Where the first segment of each row of the program's tile is kept."""
    query = tl.program_id(0).to(tl.int64) * (block_m // group) + tl.arange(0, block_m) // group
    return (query * (num_kv_heads * group) + head) * num_segments


@triton.jit
def put_out(
    out: tl.tensor, sinks: tl.tensor, token: tl.tensor, head: tl.tensor, valid: tl.tensor,
    largest: tl.tensor, total: tl.tensor, summed: tl.tensor, value_scale: tl.tensor,
    num_heads: tl.constexpr, head_size: tl.constexpr, block_d: tl.constexpr, has_sinks: tl.constexpr,
) -> None:
    """Stores the result of a tile."""
    sink = largest
    if has_sinks:
        sink = tl.load(sinks + head, mask=valid, other=0.0).to(tl.float32) * LOG2_E
    result = finish(largest, total, summed, sink, value_scale, has_sinks)
    place = tl.arange(0, block_d)
    into = out + ((token * num_heads + head) * head_size)[:, None] + place[None, :]
    tl.store(into, result.to(out.dtype.element_ty), mask=valid[:, None] & (place < head_size)[None, :])


@triton.jit
def attend(
    query: tl.tensor, cache: tl.tensor, scales: tl.tensor, sinks: tl.tensor, table: tl.tensor, tiles: tl.tensor,
    out: tl.tensor, part_sums: tl.tensor, part_stats: tl.tensor, query_stride: tl.tensor, table_stride: tl.tensor,
    scale: tl.tensor, value_scale: tl.tensor, soft_cap: tl.tensor, window: tl.tensor,
    segment: tl.tensor, num_segments: tl.tensor,
    num_kv_heads: tl.constexpr, group: tl.constexpr, head_size: tl.constexpr, block_size: tl.constexpr,
    block_m: tl.constexpr, block_n: tl.constexpr, block_d: tl.constexpr,
    element: tl.constexpr, native: tl.constexpr,
    has_window: tl.constexpr, has_cap: tl.constexpr, has_sinks: tl.constexpr, mode: tl.constexpr,
) -> None:
    """Grid: tiles, key heads, and segments where ``mode`` is ``PARTS``."""
    token, position, head, valid, low, high = tile_of(tiles, window, group, block_m, has_window)
    blocks = table + tl.load(tiles + tl.program_id(0) * 4).to(tl.int64) * table_stride
    place = tl.arange(0, block_d)
    fits = valid[:, None] & (place < head_size)[None, :]
    queries = tl.load(query + (token * query_stride + head * head_size)[:, None] + place[None, :], mask=fits, other=0.0)
    aligned = low // block_n * block_n
    first, last = 0, 1
    if mode == PARTS:
        first, last = tl.program_id(2), tl.program_id(2) + 1
    elif mode == JOINED:
        first, last = low // segment, (high + segment - 1) // segment

    largest = tl.full([block_m], float("-inf"), tl.float32)
    total = tl.zeros([block_m], tl.float32)
    summed = tl.zeros([block_m, block_d], tl.float32)
    for part in range(first, last):
        start, stop = aligned, high
        if mode != WHOLE:
            start, stop = tl.maximum(part * segment, aligned), tl.minimum((part + 1) * segment, high)
        next_largest, next_total, next_summed = over_keys(
            queries, position, cache, scales, blocks, tl.program_id(1), low, high, start, stop, scale, soft_cap, window,
            num_kv_heads, head_size, block_size, block_m, block_n, block_d, element, native, has_window, has_cap,
        )
        if mode == JOINED:
            largest, total, summed = join(largest, total, summed, next_largest, next_total, next_summed)
        else:
            largest, total, summed = next_largest, next_total, next_summed
    if mode == PARTS:
        part = tl.program_id(2)
        seen = tl.minimum((part + 1) * segment, high) - tl.maximum(part * segment, low)
        kept = valid & (seen + position * 0 > 0)
        slot = slots_of(head, num_segments, num_kv_heads, group, block_m) + part
        tl.store(part_stats + slot * 2, largest, mask=kept)
        tl.store(part_stats + slot * 2 + 1, total, mask=kept)
        tl.store(part_sums + slot[:, None] * head_size + place[None, :], summed, mask=fits & kept[:, None])
    else:
        put_out(out, sinks, token, head, valid, largest, total, summed, value_scale, num_kv_heads * group, head_size,
                block_d, has_sinks)


@triton.jit
def merge(
    part_sums: tl.tensor, part_stats: tl.tensor, sinks: tl.tensor, tiles: tl.tensor, out: tl.tensor,
    value_scale: tl.tensor, window: tl.tensor, segment: tl.tensor, num_segments: tl.tensor,
    num_kv_heads: tl.constexpr, group: tl.constexpr, head_size: tl.constexpr,
    block_m: tl.constexpr, block_d: tl.constexpr, has_window: tl.constexpr, has_sinks: tl.constexpr,
) -> None:
    """Joins what ``attend`` left of each segment. Grid: tiles, key heads."""
    token, _position, head, valid, low, high = tile_of(tiles, window, group, block_m, has_window)
    slots = slots_of(head, num_segments, num_kv_heads, group, block_m)
    place = tl.arange(0, block_d)
    fits = valid[:, None] & (place < head_size)[None, :]
    largest = tl.full([block_m], float("-inf"), tl.float32)
    total = tl.zeros([block_m], tl.float32)
    summed = tl.zeros([block_m, block_d], tl.float32)
    for part in range(low // segment, (high + segment - 1) // segment):
        mine = slots + part
        more_largest = tl.load(part_stats + mine * 2, mask=valid, other=float("-inf"))
        more_total = tl.load(part_stats + mine * 2 + 1, mask=valid, other=0.0)
        more = tl.load(part_sums + mine[:, None] * head_size + place[None, :], mask=fits, other=0.0)
        largest, total, summed = join(largest, total, summed, more_largest, more_total, more)
    put_out(out, sinks, token, head, valid, largest, total, summed, value_scale, num_kv_heads * group, head_size,
            block_d, has_sinks)
