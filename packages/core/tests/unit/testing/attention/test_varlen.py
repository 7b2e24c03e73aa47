from __future__ import annotations

import pytest
import torch

from kernelet.testing.attention.varlen import attend_varlen


def case(head_size=6, heads=4, kv_heads=2):
    """Two requests, of 3 queries and 7 keys and of 2 and 2, over pages of 4; and the keys of each in order."""
    pages = [torch.randn(8, 4, kv_heads, head_size, dtype=torch.float64) for _ in range(2)]
    query = torch.randn(5, heads, head_size, dtype=torch.float64)
    tables, lengths = ((6, 3), (5,)), (7, 2)
    rows = [
        [part[list(table)].flatten(0, 1)[:length] for part in pages]
        for table, length in zip(tables, lengths, strict=True)
    ]
    return query, pages, (0, 3, 5), tables, lengths, rows


def sdpa(query, key, value, mask, scale):
    key, value = (part.repeat_interleave(2, 1).transpose(0, 1) for part in (key, value))
    found = torch.nn.functional.scaled_dot_product_attention(
        query.transpose(0, 1), key, value, attn_mask=mask, scale=scale
    )
    return found.transpose(0, 1)


@pytest.mark.parametrize("causal, window", [(True, (-1, -1)), (False, (-1, -1)), (True, (1, 0)), (True, (0, -1))])
def test_each_request_is_attended_by_itself(causal, window):
    query, pages, starts, tables, lengths, rows = case()
    found = attend_varlen(query, *pages, starts, tables, lengths, scale=0.3, causal=causal, window=window)
    for row, (key, value) in enumerate(rows):
        mine = slice(*starts[row : row + 2])
        mask = torch.ones(mine.stop - mine.start, len(key), dtype=torch.bool)
        offset = len(key) - len(mask)
        mask = mask.tril(offset) if causal else mask
        mask = mask.triu(offset - window[0]) if window[0] >= 0 else mask
        assert torch.allclose(found[mine], sdpa(query[mine], key, value, mask, 0.3), atol=1e-12)


def test_rows_of_no_request_are_nan():
    query, pages, starts, tables, lengths, _ = case()
    found = attend_varlen(torch.cat((query, query)), *pages, starts, tables, lengths, scale=1.0, causal=True)
    assert found[:5].isfinite().all()
    assert found[5:].isnan().all()


def test_a_soft_cap_bounds_scores():
    query, pages, starts, tables, lengths, _ = case()
    plain, capped, high = (
        attend_varlen(query, *pages, starts, tables, lengths, scale=9.0, causal=True, soft_cap=cap)
        for cap in (0.0, 1.0, 1e9)
    )
    assert torch.allclose(plain, high)
    assert not torch.allclose(plain, capped)
