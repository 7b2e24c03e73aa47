from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.testing.attention.reference import SlowAttention, attend

D = torch.float64


def make_spec(**changes):
    values = {"kind": "full", "num_heads": 4, "num_kv_heads": 2, "head_size": 3, "dtype": "float64"}
    return AttentionSpec(**{**values, "block_size": 2, "scale": 0.7, **changes})


def by_hand(query, keys, values, spec, sinks=None):
    """One query and head at a time, on Python's terms."""
    out = torch.zeros(query.shape, dtype=D)
    group = spec.num_heads // spec.num_kv_heads
    for row in range(len(query)):
        position = len(keys) - len(query) + row
        low = 0 if spec.window is None else max(0, position - spec.window + 1)
        for head in range(spec.num_heads):
            scores = []
            for key in keys[low : position + 1, head // group]:
                score = sum(float(a) * float(b) for a, b in zip(query[row, head], key, strict=True)) * spec.scale
                scores.append(score if spec.soft_cap is None else spec.soft_cap * math.tanh(score / spec.soft_cap))
            extra = [] if sinks is None else [math.exp(float(sinks[head]))]
            total = sum([math.exp(score) for score in scores] + extra)
            for score, value in zip(scores, values[low : position + 1, head // group], strict=True):
                out[row, head] += math.exp(score) / total * value
    return out


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=D)


FEATURES = [{}, {"window": 1}, {"window": 3}, {"soft_cap": 0.8}, {"num_kv_heads": 1}, {"num_kv_heads": 4}]


@pytest.mark.parametrize("changes", FEATURES)
@pytest.mark.parametrize("with_sinks", [False, True])
def test_attend_is_its_formula(changes, with_sinks):
    spec = make_spec(**changes)
    keys, values = draw(7, spec.num_kv_heads, 3, seed=1), draw(7, spec.num_kv_heads, 3, seed=2)
    query, sinks = draw(4, 4, 3), draw(4, seed=3) if with_sinks else None
    expected = by_hand(query, keys, values, spec, sinks)
    torch.testing.assert_close(attend(query, keys, values, spec, sinks), expected)


def batch(slots, table, lengths, starts):
    return AttentionBatch(
        query_start_loc=np.array(starts, dtype=np.int32),
        seq_lens=np.array(lengths, dtype=np.int32),
        block_table=np.array(table, dtype=np.int32),
        slot_mapping=np.array(slots, dtype=np.int64),
    )


@pytest.mark.parametrize("window", [None, 2])
def test_slow_attention_reads_its_blocks_and_no_other(window):
    attention = SlowAttention(make_spec(window=window))
    cache = attention.allocate_cache(
        FullAttentionSpec(block_size=2, page_bytes=192, num_kv_heads=2, head_size=3, dtype="float64"), 5, "cpu"
    )
    assert cache.nbytes == 5 * 192 and not cache.any()
    cache[:] = torch.nan
    keys, values, query = draw(3, 2, 3, seed=1), draw(3, 2, 3, seed=2), draw(1, 4, 3)
    attention.write_kv(keys[:2], values[:2], cache, batch([6, 7], [[3, 0]], [2], [0, 2]))
    step = batch([2], [[3 if window is None else 0, 1], [0, 0]], [3, 0], [0, 1, 1])
    attention.write_kv(keys[2:], values[2:], cache, step)
    if window == 2:
        with pytest.raises(ValueError, match="null block"):
            attention.forward(query, cache, step)
        step.block_table[0, 0] = 3
    expected = by_hand(query, keys, values, attention.spec)
    torch.testing.assert_close(attention.forward(query, cache, step), expected)
    attention.copy_blocks(cache, [3, 1], [1, 2])
    assert torch.equal(cache[0, 1], keys[:2]) and torch.equal(cache[1, 2, 0], values[2])
    with pytest.raises(ValueError, match="null block"):
        attention.write_kv(keys[:1], values[:1], cache, batch([1], [[1]], [1], [0, 1]))
