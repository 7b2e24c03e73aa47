from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec, MLAAttentionSpec
from kernelet.testing.attention.reference import SlowAttention, attend, attend_tree

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


def test_absorbed_heads_are_what_expanded_ones_compute():
    """DeepSeek-V2 (arXiv 2405.04434), section 2.1: keys and values of each head made from the latent, and rotated."""
    rank, rotated, nope, size, heads = 6, 2, 4, 3, 4
    latent, rope = draw(7, rank, seed=1), draw(7, rotated, seed=2)
    up_key, up_value = draw(heads, nope, rank, seed=3), draw(heads, size, rank, seed=4)
    query, query_rope = draw(2, heads, nope, seed=5), draw(2, heads, rotated, seed=6)
    keys = torch.cat((torch.einsum("hnr,tr->thn", up_key, latent), rope[:, None].expand(-1, heads, -1)), -1)
    values = torch.einsum("hvr,tr->thv", up_value, latent)
    spec = make_spec(num_kv_heads=heads, head_size=nope + rotated, scale=0.3)
    wanted = by_hand_of(torch.cat((query, query_rope), -1), keys, values, spec)

    absorbed = torch.cat((torch.einsum("qhn,hnr->qhr", query, up_key), query_rope), -1)
    stored = torch.cat((latent, rope), -1)[:, None]
    mla = make_spec(kind="mla", num_kv_heads=1, head_size=rank + rotated, kv_lora_rank=rank, scale=0.3)
    found = torch.einsum("qhr,hvr->qhv", attend(absorbed, stored, stored[..., :rank], mla), up_value)
    torch.testing.assert_close(found, wanted)

    attention = SlowAttention(mla)
    spec = MLAAttentionSpec(
        block_size=2, page_bytes=2 * 8 * 8, num_kv_heads=1, head_size=8, dtype="float64", kv_lora_rank=rank
    )
    cache = attention.allocate_cache(spec, 5, "cpu")
    assert cache.nbytes == 5 * spec.page_bytes
    step = batch([2, 3, 4, 5, 6, 7, 8], [[1, 2, 3, 4]], [7], [0, 7])
    attention.write_kv(stored, stored, cache, step)
    again = attention.forward(torch.cat((draw(5, heads, 8), absorbed)), cache, step)[5:]
    torch.testing.assert_close(torch.einsum("qhr,hvr->qhv", again, up_value), wanted)


def by_hand_of(query, keys, values, spec):
    """One query and head at a time, of keys and values of different sizes."""
    found = []
    for row in range(len(query)):
        seen = len(keys) - len(query) + row + 1
        scores = torch.einsum("hd,thd->ht", query[row], keys[:seen]) * spec.scale
        found.append(torch.einsum("ht,thv->hv", scores.softmax(-1), values[:seen]))
    return torch.stack(found)


@pytest.mark.parametrize("window", [None, 3])
def test_a_tree_is_its_branches(window):
    """Each token of a tree as the last one of a sequence of its own."""
    spec = make_spec(window=window)
    keys, values, query = draw(9, 2, 3, seed=1), draw(9, 2, 3, seed=2), draw(6, 4, 3)
    branches = [[0], [0, 1], [0, 2], [0, 2, 3], [4], [0, 1, 5]]
    masks = [sum(1 << token for token in branch) for branch in branches]
    found = attend_tree(query, keys, values, masks, spec)
    for token, branch in enumerate(branches):
        picked = [0, 1, 2, *(3 + other for other in branch)]
        wanted = by_hand(query[token : token + 1], keys[picked], values[picked], spec)
        torch.testing.assert_close(found[token : token + 1], wanted)
    attention = SlowAttention(spec)
    cache = attention.allocate_cache(
        FullAttentionSpec(block_size=2, page_bytes=192, num_kv_heads=2, head_size=3, dtype="float64"), 7, "cpu"
    )
    step = batch([*range(2, 11)], [[1, 2, 3, 4, 5]], [9], [0, 9])
    step = replace(step, tree_sizes=np.array([6]), tree_masks=np.array([-1, -1, -1, *masks]))
    attention.write_kv(keys, values, cache, step)
    result = attention.forward(torch.cat((draw(3, 4, 3, seed=7), query)), cache, step)
    torch.testing.assert_close(result[3:], found)
    torch.testing.assert_close(result[:3], by_hand(draw(3, 4, 3, seed=7), keys[:3], values[:3], spec))


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
