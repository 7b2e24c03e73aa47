"""Attention of tiles of queries over a paged cache.

A program computes one tile: queries of one request that follow each other, each with ``share`` of the heads that share
a key head, as the rows of a matrix. Keys come in steps that begin at multiples of ``block_n`` of their position, and in
segments that begin at multiples of ``segment``; so neither depends on the other rows.

=========================  =====================================================================================
``query``                  [tokens, heads, head_size]; tokens lie ``query_stride`` apart
``cache``                  [block, key or value, kv_head, token, head_size]; a latent layer has keys alone
``scales``                 float32 [block, key or value, kv_head, token], where elements are int8
``sinks``                  [heads], where there are any
``table``                  int32 [requests, blocks]; rows lie ``table_stride`` apart
``tiles``                  int32 [tiles, 6]: row of the table, first token of the step, tokens, position of the first,
                           first position of the request's draft tree, lowest position that a window is counted from
``masks``                  int64 [tokens], what a token of a draft tree sees of it
``places``                 int32 [tokens], the position that the window of a token is counted from
``out``                    [tokens, heads, value_size]
``part_sums``              float32 [tiles, block_m // share, heads, segments, value_size]
``part_stats``             float32 [tiles, block_m // share, heads, segments, 2]: largest score, sum of weights
``scale``, ``value_scale`` of products, with that of stored keys; of stored values
``low``, ``high``          keys [low, high) may be read, what else a block holds is another's
=========================  =====================================================================================

A latent layer (multi-head latent attention, absorbed) has one key head, whose first ``value_size`` elements are its
value: they are loaded once. The other ``head_size - value_size`` are multiplied apart, in ``block_r`` columns.
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
def columns(
    vectors: tl.tensor, valid: tl.tensor, begin: tl.constexpr, end: tl.constexpr, block: tl.constexpr
) -> tl.tensor:
    """Elements [begin, end) of vectors that begin at pointers [rows]; zeros where a row is none."""
    place = begin + tl.arange(0, block)
    return tl.load(vectors[:, None] + place[None, :], mask=valid[:, None] & (place < end)[None, :], other=0)


@triton.jit
def scores_of(
    query: tl.tensor, rest: tl.tensor, keys: tl.tensor, vectors: tl.tensor, inside: tl.tensor, factor: tl.tensor,
    scale: tl.tensor, soft_cap: tl.tensor,
    head_size: tl.constexpr, value_size: tl.constexpr, block_r: tl.constexpr,
    element: tl.constexpr, native: tl.constexpr, has_cap: tl.constexpr,
) -> tl.tensor:
    """[block_m, block_n]: products with keys, and with what those have beyond ``value_size`` elements."""
    scores = tl.dot(query, tl.trans(keys), input_precision="ieee")
    if block_r > 0:
        ends = elements_of(columns(vectors, inside, value_size, head_size, block_r), query.dtype, element, native)
        scores = tl.dot(rest, tl.trans(ends), scores, input_precision="ieee")
    scores = scores * scale
    if element == INT8:
        scores = scores * factor[None, :]
    if has_cap:
        scores = capped(scores, soft_cap)
    return scores


@triton.jit
def seen_by(
    key: tl.tensor, position: tl.tensor, seen_from: tl.tensor, mask: tl.tensor, tree: tl.tensor,
    has_window: tl.constexpr, has_tree: tl.constexpr,
) -> tl.tensor:
    """[block_m, block_n]: which keys each row sees."""
    seen = key[None, :] <= position[:, None]
    if has_window:
        seen = seen & (key[None, :] >= seen_from[:, None])
    if has_tree:
        bit = tl.maximum(key - tree, 0).to(tl.int64)
        seen = seen & ((key < tree)[None, :] | (((mask[:, None] >> bit[None, :]) & 1) == 1))
    return seen


@triton.jit
def over_keys(
    query: tl.tensor, rest: tl.tensor, position: tl.tensor, seen_from: tl.tensor, mask: tl.tensor, tree: tl.tensor,
    cache: tl.tensor, scales: tl.tensor, blocks: tl.tensor, kv_head: tl.tensor,
    low: tl.tensor, high: tl.tensor, begin: tl.tensor, end: tl.tensor, scale: tl.tensor, soft_cap: tl.tensor,
    num_kv_heads: tl.constexpr, head_size: tl.constexpr, value_size: tl.constexpr, block_size: tl.constexpr,
    block_m: tl.constexpr, block_n: tl.constexpr, block_d: tl.constexpr, block_r: tl.constexpr,
    element: tl.constexpr, native: tl.constexpr, is_latent: tl.constexpr,
    has_window: tl.constexpr, has_cap: tl.constexpr, has_tree: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """The softmax of a tile over keys [begin, end)."""
    vectors_of_token: tl.constexpr = 1 if is_latent else 2
    largest = tl.full([block_m], float("-inf"), tl.float32)
    total = tl.zeros([block_m], tl.float32)
    summed = tl.zeros([block_m, block_d], tl.float32)
    for start in range(begin, end, block_n):
        key = start + tl.arange(0, block_n)
        inside = (key >= low) & (key < high)
        block = tl.load(blocks + key // block_size, mask=inside, other=0).to(tl.int64)
        row = (block * (vectors_of_token * num_kv_heads) + kv_head) * block_size + key % block_size
        held = columns(cache + row * head_size, inside, 0, value_size, block_d)
        keys = elements_of(held, query.dtype, element, native)
        factor = inside
        if element == INT8:
            factor = tl.load(scales + row, mask=inside, other=0.0)
        scores = scores_of(query, rest, keys, cache + row * head_size, inside, factor, scale, soft_cap,
                           head_size, value_size, block_r, element, native, has_cap)
        seen = inside[None, :] & seen_by(key, position, seen_from, mask, tree, has_window, has_tree)
        scores = tl.where(seen, scores * LOG2_E, float("-inf"))

        both = tl.maximum(largest, tl.max(scores, 1))
        base = above(both)
        weights = tl.exp2(scores - base[:, None])
        shrunk = tl.exp2(largest - base)
        total = total * shrunk + tl.sum(weights, 1)
        if not is_latent:
            row += num_kv_heads * block_size
            held = columns(cache + row * head_size, inside, 0, value_size, block_d)
            keys = elements_of(held, query.dtype, element, native)
            if element == INT8:
                factor = tl.load(scales + row, mask=inside, other=0.0)
        values = keys
        if element == INT8:
            values = (held.to(tl.float32) * factor[:, None]).to(query.dtype)
        summed = tl.dot(weights.to(values.dtype), values, summed * shrunk[:, None], input_precision="ieee")
        largest = both
    return largest, total, summed


@triton.jit
def tile_of(
    tiles: tl.tensor, window: tl.tensor,
    group: tl.constexpr, share: tl.constexpr, block_m: tl.constexpr, has_window: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor, tl.tensor, tl.tensor]:
    """Of each row of the program's tile: its token of the step, position, head, whether it is one; then low, high."""
    mine = tiles + tl.program_id(0) * 6
    count, begin = tl.load(mine + 2), tl.load(mine + 3)
    row = tl.arange(0, block_m)
    shares: tl.constexpr = (group + share - 1) // share
    inner = tl.program_id(1) % shares * share + row % share
    head = tl.program_id(1) // shares * group + inner
    valid = (row // share < count) & (row < block_m // share * share) & (inner < group)
    token = tl.load(mine + 1).to(tl.int64) + row // share
    low = begin * 0
    if has_window:
        low = tl.maximum(tl.load(mine + 5) - window + 1, 0)
    return token, begin + row // share, head, valid, low, begin + count


@triton.jit
def slots_of(
    head: tl.tensor, num_segments: tl.tensor, queries: tl.tensor, num_heads: tl.constexpr, share: tl.constexpr,
    block_m: tl.constexpr,
) -> tl.tensor:
    """Where the first segment of each row of the program's tile is kept; no tile has more queries than those."""
    query = tl.program_id(0).to(tl.int64) * queries + tl.arange(0, block_m) // share
    return (query * num_heads + head) * num_segments


@triton.jit
def put_out(
    out: tl.tensor, sinks: tl.tensor, token: tl.tensor, head: tl.tensor, valid: tl.tensor,
    largest: tl.tensor, total: tl.tensor, summed: tl.tensor, value_scale: tl.tensor,
    num_heads: tl.constexpr, value_size: tl.constexpr, block_d: tl.constexpr, has_sinks: tl.constexpr,
) -> None:
    """Stores the result of a tile."""
    sink = largest
    if has_sinks:
        sink = tl.load(sinks + head, mask=valid, other=0.0).to(tl.float32) * LOG2_E
    result = finish(largest, total, summed, sink, value_scale, has_sinks)
    place = tl.arange(0, block_d)
    into = out + ((token * num_heads + head) * value_size)[:, None] + place[None, :]
    tl.store(into, result.to(out.dtype.element_ty), mask=valid[:, None] & (place < value_size)[None, :])


@triton.jit
def put_part(
    part_sums: tl.tensor, part_stats: tl.tensor, slot: tl.tensor, valid: tl.tensor,
    largest: tl.tensor, total: tl.tensor, summed: tl.tensor, value_size: tl.constexpr, block_d: tl.constexpr,
) -> None:
    """Keeps what a tile saw of a segment."""
    place = tl.arange(0, block_d)
    tl.store(part_stats + slot * 2, largest, mask=valid)
    tl.store(part_stats + slot * 2 + 1, total, mask=valid)
    into = part_sums + slot[:, None] * value_size + place[None, :]
    tl.store(into, summed, mask=valid[:, None] & (place < value_size)[None, :])


@triton.jit
def attend(
    query: tl.tensor, cache: tl.tensor, scales: tl.tensor, sinks: tl.tensor, table: tl.tensor, tiles: tl.tensor,
    masks: tl.tensor, places: tl.tensor,
    out: tl.tensor, part_sums: tl.tensor, part_stats: tl.tensor, query_stride: tl.tensor, table_stride: tl.tensor,
    scale: tl.tensor, value_scale: tl.tensor, soft_cap: tl.tensor, window: tl.tensor,
    segment: tl.tensor, num_segments: tl.tensor, queries_of_tile: tl.tensor,
    num_kv_heads: tl.constexpr, group: tl.constexpr, share: tl.constexpr,
    head_size: tl.constexpr, value_size: tl.constexpr, block_size: tl.constexpr,
    block_m: tl.constexpr, block_n: tl.constexpr, block_d: tl.constexpr, block_r: tl.constexpr,
    element: tl.constexpr, native: tl.constexpr, is_latent: tl.constexpr,
    has_window: tl.constexpr, has_cap: tl.constexpr, has_sinks: tl.constexpr, has_tree: tl.constexpr,
    mode: tl.constexpr,
) -> None:
    """Grid: tiles, key heads times the tiles that their heads need, and segments where ``mode`` is ``PARTS``."""
    token, position, head, valid, low, high = tile_of(tiles, window, group, share, block_m, has_window)
    blocks = table + tl.load(tiles + tl.program_id(0) * 6).to(tl.int64) * table_stride
    kv_head = tl.program_id(1) // ((group + share - 1) // share)
    given = query + token * query_stride + head * head_size
    queries = columns(given, valid, 0, value_size, block_d)
    rest = queries
    if block_r > 0:
        rest = columns(given, valid, value_size, head_size, block_r)
    seen_from, mask, tree = position - window + 1, token, high
    if has_tree:
        seen_from = tl.load(places + token, mask=valid, other=0) - window + 1
        mask = tl.load(masks + token, mask=valid, other=0)
        tree = tl.load(tiles + tl.program_id(0) * 6 + 4)
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
            queries, rest, position, seen_from, mask, tree, cache, scales, blocks, kv_head, low, high, start, stop,
            scale, soft_cap, num_kv_heads, head_size, value_size, block_size, block_m, block_n, block_d, block_r,
            element, native, is_latent, has_window, has_cap, has_tree,
        )
        if mode == JOINED:
            largest, total, summed = join(largest, total, summed, next_largest, next_total, next_summed)
        else:
            largest, total, summed = next_largest, next_total, next_summed
    num_heads: tl.constexpr = num_kv_heads * group
    if mode == PARTS:
        seen = tl.minimum((first + 1) * segment, high) - tl.maximum(first * segment, low)
        slot = slots_of(head, num_segments, queries_of_tile, num_heads, share, block_m) + first
        put_part(part_sums, part_stats, slot, valid & (seen + position * 0 > 0), largest, total, summed, value_size,
                 block_d)
    else:
        put_out(out, sinks, token, head, valid, largest, total, summed, value_scale, num_heads, value_size, block_d,
                has_sinks)


@triton.jit
def merge(
    part_sums: tl.tensor, part_stats: tl.tensor, sinks: tl.tensor, tiles: tl.tensor, out: tl.tensor,
    value_scale: tl.tensor, window: tl.tensor, segment: tl.tensor, num_segments: tl.tensor, queries_of_tile: tl.tensor,
    num_kv_heads: tl.constexpr, group: tl.constexpr, share: tl.constexpr, value_size: tl.constexpr,
    block_m: tl.constexpr, block_d: tl.constexpr, has_window: tl.constexpr, has_sinks: tl.constexpr,
) -> None:
    """Joins what ``attend`` left of each segment. Grid: as there, without segments."""
    token, _position, head, valid, low, high = tile_of(tiles, window, group, share, block_m, has_window)
    num_heads: tl.constexpr = num_kv_heads * group
    slots = slots_of(head, num_segments, queries_of_tile, num_heads, share, block_m)
    place = tl.arange(0, block_d)
    fits = valid[:, None] & (place < value_size)[None, :]
    largest = tl.full([block_m], float("-inf"), tl.float32)
    total = tl.zeros([block_m], tl.float32)
    summed = tl.zeros([block_m, block_d], tl.float32)
    for part in range(low // segment, (high + segment - 1) // segment):
        mine = slots + part
        more_largest = tl.load(part_stats + mine * 2, mask=valid, other=float("-inf"))
        more_total = tl.load(part_stats + mine * 2 + 1, mask=valid, other=0.0)
        more = tl.load(part_sums + mine[:, None] * value_size + place[None, :], mask=fits, other=0.0)
        largest, total, summed = join(largest, total, summed, more_largest, more_total, more)
    put_out(out, sinks, token, head, valid, largest, total, summed, value_scale, num_heads, value_size, block_d,
            has_sinks)
