"""What a library's function over pages must compute, for stand-ins of libraries that are not installed."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionSpec
from kernelet.testing.attention.reference import attend


def attend_varlen(
    query: Tensor,
    key_pages: Tensor,
    value_pages: Tensor,
    query_start_loc: Sequence[int],
    tables: Sequence[Sequence[int]],
    seq_lens: Sequence[int],
    *,
    scale: float,
    causal: bool,
    window: tuple[int, int] = (-1, -1),
    soft_cap: float = 0.0,
) -> Tensor:
    """Attention of the last tokens of each request over its pages; a causal mask is aligned to the bottom right.

    Args:
        query: [tokens, num_heads, head_size].
        key_pages: [page, token, num_kv_heads, head_size].
        value_pages: The same.
        query_start_loc: [requests + 1], where each request's queries are.
        tables: Pages of each request.
        seq_lens: Keys of each request.
        scale: Of q.k.
        causal: A query sees no key after its own.
        window: Keys before and after its own that a query sees; -1: all.
        soft_cap: 0: none.

    Returns:
        [tokens, num_heads, head_size] in the queries' dtype; rows that are no request's are NaN.
    """
    left, right = window
    _, heads, head_size = query.shape
    _, page_size, kv_heads, _ = key_pages.shape
    spec = AttentionSpec(
        kind="full" if left < 0 else "sliding",
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_size=head_size,
        dtype=str(query.dtype).removeprefix("torch."),
        block_size=page_size,
        scale=scale,
        window=None if left < 0 else left + 1,
        soft_cap=soft_cap or None,
    )
    result = torch.full_like(query, torch.nan)
    for row, length in enumerate(seq_lens):
        start, stop = query_start_loc[row : row + 2]
        pages = torch.tensor(list(tables[row])[: -(-length // page_size)], dtype=torch.int64)
        key, value = (part[pages].flatten(0, 1)[:length] for part in (key_pages, value_pages))
        if causal or right == 0:
            found = attend(query[start:stop], key, value, spec)
        elif left < 0 and right < 0:  # each query sees what the last one does
            found = torch.cat([attend(query[one : one + 1], key, value, spec) for one in range(start, stop)])
        else:
            raise NotImplementedError("a window without a causal mask")
        result[start:stop] = found
    return result
