"""Pages against what ``write_kv`` stored, in groups of several layers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.cache import CacheConfigPlan, CacheGroup, FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.testing.attention import SlowKept
from kernelet.worker.kv_transfer.layouts import make_layouts
from kernelet.worker.kv_transfer.pages import CachePages
from kernelet.worker.kv_transfer.transfers import Transfers

SPEC = AttentionSpec(kind="full", num_heads=2, num_kv_heads=2, head_size=3, dtype="float32", block_size=4, scale=1.0)
KEEPS = FullAttentionSpec(block_size=4, page_bytes=1 << 10, num_kv_heads=2, head_size=3, dtype="float32")
TABLE = (5, 2, 7)


@pytest.fixture
def transfers():
    made = Transfers()
    made.begin([1])
    return made


@pytest.fixture
def caches():
    attention = {name: SlowKept(SPEC, Settings(plugin="p")) for name in "abc"}
    return {name: (one, one.allocate_cache(KEEPS, 9, "cpu").fill_(torch.nan)) for name, one in attention.items()}


@pytest.fixture
def pages(caches, transfers):
    groups = (
        CacheGroup(spec=KEEPS, layers=("a", "b"), num_blocks=9),
        CacheGroup(spec=KEEPS, layers=("c",), num_blocks=9),
    )
    attention = {name: one for name, (one, _) in caches.items()}
    return CachePages(make_layouts(CacheConfigPlan(groups=groups), attention), caches, transfers)


def store(caches, layer, count):
    """By steps of the attention itself."""
    generator = torch.Generator().manual_seed(ord(layer))
    key, value = (torch.randn(count, 2, 3, generator=generator) for _ in range(2))
    positions = np.arange(count)
    batch = AttentionBatch(
        query_start_loc=np.array([0, count], dtype=np.int32),
        seq_lens=np.array([count], dtype=np.int32),
        block_table=np.array([TABLE], dtype=np.int32),
        slot_mapping=np.array(TABLE, dtype=np.int64)[positions // 4] * 4 + positions % 4,
    )
    attention, cache = caches[layer]
    attention.write_kv(key, value, cache, attention.build_metadata(batch, "cpu"))
    return key, value


def test_what_is_read_is_what_was_stored(pages, caches):
    stored = {layer: store(caches, layer, 11) for layer in "abc"}
    for layer, parts in stored.items():
        for start, end in ((0, 11), (3, 5), (4, 8), (10, 11), (6, 6)):
            found = pages.read(layer, TABLE, start, end)
            assert all(torch.equal(part, wanted[start:end]) for part, wanted in zip(found, parts, strict=True))


def test_what_is_written_is_there_and_all_else_stays(pages, caches):
    key, value = store(caches, "b", 11)
    assert pages.write(1, "b", TABLE, 3, [key[:6].neg(), value[:6].neg()])
    found = pages.read("b", TABLE, 0, 11)
    for part, was in zip(found, (key, value), strict=True):
        assert torch.equal(part, torch.cat((was[:3], -was[:6], was[9:])))
    assert all(cache.isnan().all() for cache in (caches["a"][1], caches["c"][1]))


def test_nothing_is_written_for_a_transfer_that_is_over_or_unknown(pages, caches, transfers):
    parts = store(caches, "a", 4)
    before = caches["a"][1].clone()
    transfers.end([1])
    for number in (1, 2):
        assert not pages.write(number, "a", TABLE, 0, [part + 1 for part in parts])
    assert torch.equal(caches["a"][1].view(torch.int32), before.view(torch.int32))  # NaN too


def test_what_is_read_is_the_readers(pages, caches):
    store(caches, "a", 4)
    found = pages.read("a", TABLE, 0, 4)[0]
    found.zero_()
    assert pages.read("a", TABLE, 0, 4)[0].all()


@pytest.mark.parametrize(
    "blocks, start, end, says",
    [
        (TABLE, 9, 13, "tokens 9 to 13 are not in 3 blocks of 4"),
        (TABLE, 5, 4, "tokens 5 to 4"),
        (TABLE, -1, 4, "tokens -1 to 4"),
        ((5, 0, 7), 3, 6, "a block of tokens 3 to 6 is 0"),
        ((5, 9, 7), 3, 6, "a block of tokens 3 to 6 is 9"),
    ],
)
def test_tokens_that_are_not_there(pages, blocks, start, end, says):
    with pytest.raises(ValueError, match=says):
        pages.read("a", blocks, start, end)
    with pytest.raises(ValueError, match=r"a: "):
        pages.write(1, "a", blocks, start, [torch.zeros(max(0, end - start) or 14, 2, 3)] * 2)


def test_a_dropped_block_beside_the_stretch_is_no_matter(pages):
    assert pages.write(1, "a", (0, 2, 0), 5, [torch.ones(3, 2, 3)] * 2)
    assert pages.read("a", (0, 2, 0), 5, 8)[0].all()


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [torch.zeros(2, 2, 3)],
        [torch.zeros(2, 2, 3), torch.zeros(1, 2, 3)],
        [torch.zeros(2, 2, 3), torch.zeros(2, 2, 3, dtype=torch.float64)],
        [torch.zeros(2, 1, 3), torch.zeros(2, 1, 3)],
    ],
)
def test_parts_of_another_form_are_refused(pages, parts):
    with pytest.raises(ValueError, match=r"a keeps \[\d, 2, 3\] of torch.float32, .* of so many tokens, not "):
        pages.write(1, "a", TABLE, 0, parts)


def test_what_an_earlier_owner_left_behind_a_load_is_cleared(pages, caches):
    pages.clear_behind((TABLE, (4, 6)), 6)
    for layer, block in (("a", 2), ("b", 2), ("c", 6)):
        cache = caches[layer][1]
        assert cache[:, block, :2].isnan().all()
        assert not cache[:, block, 2:].any()
        assert int(cache.isnan().sum()) == cache.numel() - 2 * 2 * 2 * 3
    pages.clear_behind((TABLE, TABLE), 8)
    assert caches["a"][1][:, 7].isnan().all()


def test_regions_are_the_attentions(pages, caches):
    attention, cache = caches["c"]
    assert pages.regions("c") == attention.regions(cache)
    assert len(pages.regions("c")) == 2
