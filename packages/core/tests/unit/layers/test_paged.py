from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet.layers.paged import PagedCache, PagedStep
from kernelet.testing.attention.kept import kept
from kernelet.testing.attention.steps import cache_spec_of

BLOCKS = 9


class Paged(PagedCache):
    def forward(self, query, cache, metadata, sinks=None):
        raise NotImplementedError


def made(dtype, **changes):
    spec = AttentionSpec(
        kind="full", num_heads=4, num_kv_heads=2, head_size=5, dtype=dtype, block_size=4, scale=1.0, **changes
    )
    attention = Paged(spec, Settings(plugin="x"))
    if spec.cache_scales:
        attention.set_cache_scales(0.021, 0.6)
    return attention, attention.allocate_cache(cache_spec_of(spec), BLOCKS, "cpu")


def batch_of(blocks, count, size):
    """One request's first tokens."""
    return AttentionBatch(
        query_start_loc=np.array([0, count], dtype=np.int32),
        seq_lens=np.array([count], dtype=np.int32),
        block_table=np.array([blocks], dtype=np.int32),
        slot_mapping=np.array([blocks[at // size] * size + at % size for at in range(count)], dtype=np.int64),
    )


def stored(attention, cache, blocks, count):
    """Random keys and values of a request's tokens, written to its blocks."""
    size = attention.spec.block_size
    rows = [torch.randn(count, 2, 5).to(getattr(torch, attention.spec.dtype)) for _ in range(2)]
    rows[0][0, 0, 0], rows[1][1, 0, 1] = torch.nan, 1e4
    attention.write_kv(*rows, cache, attention.build_metadata(batch_of(blocks, count, size), "cpu"))
    return rows


@pytest.mark.parametrize(
    "dtype, changes",
    [
        ("float32", {}),
        ("bfloat16", {}),
        ("float16", {"cache_dtype": "e4m3fn", "cache_scales": "tensor"}),
        ("float64", {"cache_dtype": "e4m3fn", "cache_scales": "tensor"}),
    ],
)
def test_what_is_stored_comes_back(dtype, changes):
    attention, cache = made(dtype, **changes)
    rows = stored(attention, cache, [7, 2, 5], 11)
    parts = attention.export_pages(cache, [7, 2, 5], 3, 11)
    for part, given, scale, said in zip(parts, rows, attention.scales, attention.spec.cache_parts, strict=True):
        assert part.dtype == getattr(torch, said.dtype)
        wanted = kept(given[3:], attention.spec, scale)
        found = part.float().double() * torch.tensor(scale).double() if changes else part.double()
        assert torch.equal(found.isnan(), wanted.isnan())
        assert torch.equal(found.nan_to_num(), wanted.nan_to_num())


def test_pages_come_to_other_blocks_and_leave_the_rest():
    attention, cache = made("float32")
    stored(attention, cache, [7, 2, 5], 12)
    before = [part.clone() for part in cache]
    parts = attention.export_pages(cache, [7, 2, 5], 2, 9)
    attention.import_pages(cache, [1, 3, 4], 2, parts)
    again = attention.export_pages(cache, [1, 3, 4], 2, 9)
    assert all(a.nan_to_num().equal(b.nan_to_num()) for a, b in zip(parts, again, strict=True))
    for part, old in zip(cache, before, strict=True):
        assert not part[1, :2].any()
        assert not part[4, 1:].any()
        assert part[[2, 5, 6, 8]].nan_to_num().equal(old[[2, 5, 6, 8]].nan_to_num())


def test_blocks_are_copied_as_they_were():
    attention, cache = made("float32")
    stored(attention, cache, [1, 2], 8)
    before = [part.nan_to_num() for part in cache]
    attention.copy_blocks(cache, [1, 2, 1], [2, 1, 3])
    for part, old in zip(cache, before, strict=True):
        assert part.nan_to_num()[[2, 1, 3]].equal(old[[1, 2, 1]])


def test_memory_lies_block_after_block():
    attention, cache = made("bfloat16")
    regions = attention.regions(cache)
    assert [region.address for region in regions] == [part.data_ptr() for part in cache]
    assert {(region.block_bytes, region.num_blocks, region.device) for region in regions} == {(80, BLOCKS, "cpu")}
    other, _ = made("float32")
    assert attention.native_layout() != other.native_layout()


def test_a_cache_that_is_larger_than_its_spec_allows():
    attention, _ = made("float32")
    spec = FullAttentionSpec(block_size=4, num_kv_heads=2, head_size=5, dtype="float32", page_bytes=319)
    with pytest.raises(ConfigError, match="takes 640 bytes, but its spec allows 319 a block"):
        attention.allocate_cache(spec, 2, "cpu")


def steps():
    """Two requests with 3 and 1 tokens, and two others with as many blocks."""
    first = AttentionBatch(
        query_start_loc=np.array([0, 3, 4], dtype=np.int32),
        seq_lens=np.array([9, 5], dtype=np.int32),
        block_table=np.array([[4, 1, 2], [3, 5, 0]], dtype=np.int32),
        slot_mapping=np.array([6, 7, 8, 20], dtype=np.int64),
    )
    second = AttentionBatch(
        query_start_loc=np.array([0, 2, 4], dtype=np.int32),
        seq_lens=np.array([2, 8], dtype=np.int32),
        block_table=np.array([[1, 0, 0], [6, 5, 0]], dtype=np.int32),
        slot_mapping=np.array([4, 5, 22, 23], dtype=np.int64),
    )
    return first, second


def test_a_step_says_lengths_as_libraries_take_them():
    first, second = steps()
    step, other = (PagedStep.of(batch, "cpu") for batch in (first, second))
    assert (step.max_query_len, step.max_seq_len, step.is_uniform) == (3, 9, False)
    assert (other.max_query_len, other.max_seq_len, other.is_uniform) == (2, 8, True)
    assert step.key_start_loc.tolist() == [0, 9, 14]
    for name in ("query_start_loc", "seq_lens", "key_start_loc", "block_table"):
        assert getattr(step, name).dtype == torch.int32
    first.block_table[:] = 0
    assert step.block_table.tolist() == [[4, 1, 2], [3, 5, 0]]


def test_an_empty_step():
    empty = AttentionBatch(
        query_start_loc=np.zeros(1, dtype=np.int32),
        seq_lens=np.zeros(0, dtype=np.int32),
        block_table=np.zeros((0, 2), dtype=np.int32),
        slot_mapping=np.zeros(0, dtype=np.int64),
    )
    step = PagedStep.of(empty, "cpu")
    assert (step.max_query_len, step.max_seq_len, step.slots.shape) == (0, 0, (0,))


def test_a_step_is_refilled_where_it_lies():
    first, second = steps()
    step, wanted = PagedStep.of(first, "cpu"), PagedStep.of(second, "cpu")
    places = step.slots.data_ptr(), step.block_table.data_ptr()
    step.refill(second)
    assert (step.slots.data_ptr(), step.block_table.data_ptr()) == places
    for name in ("slots", "query_start_loc", "seq_lens", "key_start_loc", "block_table"):
        assert getattr(step, name).equal(getattr(wanted, name))
