from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelet_ops_triton.linear.tiles import tiles_of


@given(experts=st.lists(st.integers(0, 6), min_size=1, max_size=60), block_m=st.sampled_from([1, 4, 16]))
def test_each_row_is_in_one_tile_of_its_expert(experts, block_m):
    ordered = torch.tensor(sorted(experts))
    tiles = tiles_of(ordered, 7, block_m)
    seen = torch.full((len(ordered),), -1)
    for expert, first, end in tiles.table.tolist():
        rows = slice(first, min(end, first + block_m))
        assert (seen[rows] == -1).all()
        seen[rows] = expert
    assert torch.equal(seen, ordered)
    assert tiles.experts is ordered and tiles.table.dtype == torch.int32
