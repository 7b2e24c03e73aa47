from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from number_buffers import DTYPES, ROUNDING, address, read, room, stored

HEADS = 6
FORMS = ("own", "e4m3fn", "int8")
SCALES = (0.013, 0.3)


@dataclass(frozen=True)
class Case:
    """Requests as (tokens of this step, tokens in all)."""

    requests: tuple[tuple[int, int], ...]
    kv_heads: int = 2
    size: int = 24
    block: int = 16
    window: int = 0
    soft_cap: float = 0.0
    sinks: bool = False


CASES = {
    "one": Case(((1, 1),)),
    "decode": Case(((1, 130), (1, 64), (1, 65), (1, 17)), size=32),
    "prompts": Case(((40, 40), (23, 100), (1, 90)), kv_heads=3),
    "odd": Case(((5, 71), (1, 67), (2, 2)), size=19, block=5, kv_heads=1),
    "window": Case(((30, 150), (1, 200)), window=37, soft_cap=4.0, size=16, kv_heads=6),
    "sinks": Case(((3, 70), (1, 129)), sinks=True, block=8),
}


OTHERS = [(name, form) for name in ("decode", "prompts", "odd", "window") for form in FORMS[1:]]


def to_e4m3fn(x):
    """The nearest of the 127 magnitudes, ties to the even one."""
    bits = np.arange(127)
    table = np.where(bits < 8, bits * 2.0**-9, (8 + (bits & 7)) * 2.0 ** ((bits >> 3) - 10.0))
    size = np.minimum(np.abs(x), 448.0)
    above = np.searchsorted(table, size)
    below = np.maximum(above - 1, 0)
    up, down = table[above] - size, size - table[below]
    return np.copysign(np.where((down < up) | ((down == up) & (below % 2 == 0)), table[below], table[above]), x)


def kept(x, form, scale, wide):
    """[..., size] as it comes back."""
    if form == "own":
        return x
    if form == "e4m3fn":
        over = (x.astype(wide) / wide(np.float32(scale))).astype(np.float32).astype(np.float64)
        return to_e4m3fn(over) * np.float32(scale)
    scales = (np.abs(x.astype(wide)).max(-1, keepdims=True) / wide(127)).astype(np.float32)
    return np.round((x.astype(wide) / scales.astype(wide)).astype(np.float32)) * scales.astype(np.float64)


def truth(query, keys, values, position, case, sink):
    """One query's heads of a group, [heads, size], with all keys of its request."""
    first = max(0, position - case.window + 1) if case.window else 0
    scores = query @ keys[first : position + 1].T * case.size**-0.5
    if case.soft_cap:
        scores = np.tanh(scores / case.soft_cap) * case.soft_cap
    if sink is not None:
        scores = np.concatenate([scores, sink[:, None]], 1)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    return weights[:, : position + 1 - first] @ values[first : position + 1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name, form", [*((name, "own") for name in CASES), *OTHERS])
def test_attention(native, name, dtype, form):
    case, number = CASES[name], DTYPES.index(dtype)
    random = np.random.default_rng(len(name))
    kv_heads, size, block = case.kv_heads, case.size, case.block
    columns = max(-(-context // block) for _, context in case.requests)
    used = sum(-(-context // block) for _, context in case.requests)
    order = iter(random.permutation(used) + 1)
    table = np.zeros((len(case.requests), columns), np.int32)
    for row, (_, context) in enumerate(case.requests):
        for column in range(-(-context // block)):
            table[row, column] = next(order)
    cache = stored(np.zeros((1 + used, kv_heads, 2, block * size)), dtype)
    if form != "own":
        cache = np.zeros((1 + used, kv_heads, 2 * block * (size + (4 if form == "int8" else 0))), np.uint8)
    scales = SCALES if form == "e4m3fn" else (1.0, 1.0)
    layer = native.AttentionLayer(
        HEADS, kv_heads, size, block, case.window, size**-0.5, case.soft_cap, FORMS.index(form), *scales
    )
    held = []

    def step(counts):
        """The last ``counts`` tokens of each request."""
        starts = np.cumsum([0, *counts]).astype(np.int32)
        lengths = np.array([context for _, context in case.requests], np.int32)
        places = [
            table[row, position // block] * block + position % block
            for row, (count, (_, context)) in enumerate(zip(counts, case.requests, strict=True))
            for position in range(context - count, context)
        ]
        slots = np.array(places, np.int64)
        held.append((starts, lengths, slots))
        return native.AttentionStep(
            address(starts), address(lengths), len(lengths), address(table), columns, address(slots), len(slots)
        )

    contexts = [context for _, context in case.requests]
    stride = kv_heads * size + 5  # keys and values are parts of a wider row; the last ends the buffer
    buffers = [stored(random.standard_normal((sum(contexts) - 1) * stride + kv_heads * size), dtype) for _ in range(2)]
    native.write_kv(
        layer, step(contexts), address(buffers[0]), stride, address(buffers[1]), stride, address(cache), number
    )
    keys, values = (
        np.stack([read(buffer, dtype)[token * stride :][: kv_heads * size] for token in range(sum(contexts))])
        for buffer in buffers
    )
    wide = np.float64 if dtype == "float64" else np.float32
    keys, values = (
        kept(part.reshape(len(part), kv_heads, size), form, scale, wide).reshape(part.shape)
        for part, scale in zip((keys, values), scales, strict=True)
    )
    counts = [count for count, _ in case.requests]
    wide_row = HEADS * size + 3
    query = stored(2 * random.standard_normal((sum(counts) - 1) * wide_row + HEADS * size), dtype)
    out = room((sum(counts), HEADS, size), dtype)
    sinks = stored(random.standard_normal(HEADS), dtype) if case.sinks else None
    native.attention(
        layer, step(counts), address(query), wide_row, address(out), address(cache), address(sinks), number
    )
    token, group = 0, HEADS // kv_heads
    for row, (count, context) in enumerate(case.requests):
        first = sum(contexts[:row])
        for position in range(context - count, context):
            asked = read(query, dtype)[token * wide_row :][: HEADS * size].reshape(HEADS, size)
            for head in range(kv_heads):
                part = slice(head * group, (head + 1) * group)
                expected = truth(
                    asked[part],
                    keys[first : first + context, head * size : (head + 1) * size],
                    values[first : first + context, head * size : (head + 1) * size],
                    position,
                    case,
                    None if sinks is None else read(sinks, dtype)[part],
                )
                error = np.abs(read(out[token, part], dtype) - expected)
                assert (error <= ROUNDING[dtype] * (np.abs(expected) + 4)).all()
            token += 1
