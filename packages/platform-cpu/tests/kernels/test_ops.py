from __future__ import annotations

import numpy as np
import pytest
from number_buffers import DTYPES, ROUNDING, address, read, room, stored, wide

SIZES = (1, 7, 64, 131)


def close(found, expected, dtype):
    return (np.abs(read(found, dtype) - expected) <= 2 * ROUNDING[dtype] * (np.abs(expected) + 1)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_norms(native, dtype, size):
    random, number, rows, stride = np.random.default_rng(size), DTYPES.index(dtype), 3, size + 5
    weight, bias = (stored(random.standard_normal(size), wide(dtype)) for _ in range(2))
    for of_wide in (False, True):
        given = wide(dtype) if of_wide else dtype
        x = stored(random.standard_normal((rows - 1) * stride + size), given)
        held = np.stack([read(x, given)[row * stride :][:size] for row in range(rows)])
        for kind, shift in ((0, 0), (1, 0), (1, address(bias))):
            y = room((rows, size), dtype)
            native.norm(kind, address(x), stride, address(y), rows, size, address(weight), shift, 1e-3, number, of_wide)
            centred = held - held.mean(1, keepdims=True) if kind else held
            expected = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-3) * weight
            assert close(y, expected + (bias if shift else 0), dtype)
    residual, x = (
        stored(random.standard_normal((rows, size)), wide(dtype)),
        stored(random.standard_normal((rows, size)), dtype),
    )
    total, normed = room((rows, size), wide(dtype)), room((rows, size), dtype)
    native.add_norm(
        0,
        address(residual),
        address(x),
        address(total),
        address(normed),
        rows,
        size,
        0.5,
        address(weight),
        0,
        1e-3,
        number,
    )
    added = residual + 0.5 * read(x, dtype)
    assert close(total, added, wide(dtype))
    assert close(normed, added / np.sqrt((added**2).mean(1, keepdims=True) + 1e-3) * weight, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_and_activations(native, dtype):
    random, number = np.random.default_rng(1), DTYPES.index(dtype)
    for count in SIZES:
        x, y = (stored(random.standard_normal(count), dtype) for _ in range(2))
        out = room((count,), dtype)
        native.add(address(x), address(y), address(out), count, 2.0, number, False)
        assert close(out, read(x, dtype) + 2 * read(y, dtype), dtype)
    for size in SIZES:
        rows, stride = 3, 2 * size + 1
        x = stored(4 * random.standard_normal((rows - 1) * stride + 2 * size), dtype)
        held = np.stack([read(x, dtype)[row * stride :][: 2 * size] for row in range(rows)])
        for kind, function in enumerate((lambda v: v / (1 + np.exp(-v)), None, None, lambda v: np.maximum(v, 0))):
            if function is None:
                continue
            y = room((rows, size), dtype)
            native.activate(address(x), stride, address(y), rows, size, kind, True, number)
            assert close(y, function(held[:, :size]) * held[:, size:], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("interleaved", [False, True])
def test_heads_are_normed_and_rotated(native, dtype, interleaved):
    random, number = np.random.default_rng(2), DTYPES.index(dtype)
    tokens, count, size, rotated, stride = 3, 2, 22, 14, 2 * 22 + 3
    x = stored(random.standard_normal((tokens - 1) * stride + count * size), dtype)
    weight = stored(random.standard_normal(size), wide(dtype))
    angles = random.standard_normal((tokens, rotated // 2))
    order = np.repeat(np.arange(rotated // 2), 2) if interleaved else np.tile(np.arange(rotated // 2), 2)
    first = np.arange(rotated) % 2 == 0 if interleaved else np.arange(rotated) < rotated // 2
    cos = stored(np.cos(angles)[:, order], wide(dtype))
    sin = stored(np.sin(angles)[:, order] * np.where(first, -1, 1), wide(dtype))
    before = np.stack([read(x, dtype)[token * stride :][: count * size] for token in range(tokens)])
    native.heads(
        address(x), stride, size, tokens, count, size, address(weight), 1e-3, address(cos), address(sin), rotated,
        rotated, interleaved, number,
    )  # fmt: skip
    after = np.stack([read(x, dtype)[token * stride :][: count * size] for token in range(tokens)])
    heads = before.reshape(tokens, count, size)
    heads = heads / np.sqrt((heads**2).mean(2, keepdims=True) + 1e-3) * weight
    partner = np.arange(rotated) ^ 1 if interleaved else (np.arange(rotated) + rotated // 2) % rotated
    turned = heads[..., :rotated] * cos[:, None] + heads[..., partner] * sin[:, None]
    expected = np.concatenate([turned, heads[..., rotated:]], 2).reshape(tokens, -1)
    assert (np.abs(after - expected) <= 4 * ROUNDING[dtype] * (np.abs(expected) + 2)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_samples(native, dtype):
    random, number, rows = np.random.default_rng(3), DTYPES.index(dtype), 6
    for size in (1, 13, 300, 5000):
        stride = size + 3
        logits = stored(3 * random.standard_normal((rows - 1) * stride + size), dtype)
        held = np.stack([read(logits, dtype)[row * stride :][:size] for row in range(rows)])
        temperature = np.array([0.0, 1.0, 0.5, 1.0, 1.0, 2.0])
        top_k = np.array([0, 0, min(5, size), 0, 0, min(7, size)])
        top_p, min_p = np.array([1.0, 1.0, 1.0, 0.6, 1.0, 0.9]), np.array([0.0, 0.0, 0.0, 0.0, 0.2, 0.01])
        draws = random.random(rows)
        tokens, maxima = np.full(rows, -1), np.full(rows, np.nan)
        native.sample(
            address(logits), stride, rows, size, number, address(temperature), address(top_k), address(top_p),
            address(min_p), address(draws), address(tokens), address(maxima),
        )  # fmt: skip
        assert np.array_equal(maxima, held.max(1))
        for row in range(rows):
            order = np.argsort(-held[row], kind="stable")
            rank = int(np.flatnonzero(order == tokens[row])[0])
            chances = np.exp((held[row] - held[row].max()) / (temperature[row] or 1))
            chances /= chances.sum()
            before = chances[order][:rank].sum()
            assert rank == 0 or temperature[row] > 0
            assert not top_k[row] or held[row][tokens[row]] >= held[row][order[top_k[row] - 1]]
            assert top_p[row] == 1 or before < 1
            assert chances[tokens[row]] >= min_p[row] * chances.max() * 0.999


@pytest.mark.parametrize("dtype", DTYPES)
def test_token_masks(native, dtype):
    random, number = np.random.default_rng(4), DTYPES.index(dtype)
    for size in (1, 31, 32, 33, 300):
        stride, words = size + 3, -(-size // 32)
        logits = stored(random.standard_normal(3 * stride + size), dtype)
        expected = read(logits, dtype)
        masks = random.integers(0, 1 << 32, (2, words), dtype=np.uint32)
        masks[0, -1] = 0xFFFFFFFF
        chosen = np.array([3, 1])
        for mask, row in zip(masks, chosen, strict=True):
            bits = np.unpackbits(mask.view(np.uint8), count=size, bitorder="little")
            expected[row * stride :][:size][bits == 0] = -np.inf
        native.apply_token_mask(address(logits), stride, size, number, address(masks), words, address(chosen), 2)
        assert np.array_equal(read(logits, dtype), expected)
