"""PlainPages against tensors that are indexed by hand."""

from __future__ import annotations

import pytest
import torch

from kernelet.testing.kv_connector.pages import PlainPages, plain_layout, same

TABLE = (3, 1, 7)


@pytest.fixture
def pages():
    found = PlainPages([plain_layout(scales="float16", dtype="float8_e4m3fn")])
    found.fill(seed=1)
    return found


def by_hand(pages, layer, start, end):
    return [torch.stack([part[TABLE[t // 4], t % 4] for t in range(start, end)]) for part in pages.tensors[layer]]


@pytest.mark.parametrize("start, end", [(0, 12), (3, 9), (4, 8), (5, 6)])
def test_reads_tokens_across_blocks(pages, start, end):
    found = pages.read("layers.1", TABLE, start, end)
    assert same(found, by_hand(pages, "layers.1", start, end))
    assert [part.shape for part in found] == [(end - start, 2, width) for width in (8, 8, 1, 1)]


def test_reads_copies(pages):
    found = pages.read("layers.0", TABLE, 0, 4)
    before = [part.clone() for part in found]
    pages.fill(seed=2)
    assert same(found, before)


def test_writes_its_tokens_and_nothing_else(pages):
    other = PlainPages(pages.layouts)
    other.fill(seed=9)
    before, parts = pages.snapshot(), other.read("layers.0", TABLE, 3, 9)
    assert pages.write(5, "layers.0", TABLE, 3, parts)
    assert same(by_hand(pages, "layers.0", 3, 9), parts)
    assert same(pages.tensors["layers.1"], before["layers.1"])
    untouched = [(3, slice(0, 3)), (7, slice(1, 4)), (2, slice(0, 4))]
    for block, tokens in untouched:
        now = [part[block, tokens] for part in pages.tensors["layers.0"]]
        assert same(now, [part[block, tokens] for part in before["layers.0"]])


def test_closed_transfers_write_nothing(pages):
    before = pages.snapshot()
    pages.close([5])
    parts = PlainPages(pages.layouts).read("layers.0", TABLE, 0, 2)
    assert not pages.write(5, "layers.0", TABLE, 0, parts)
    assert pages.refused == [5]
    assert same(pages.tensors["layers.0"], before["layers.0"])
    assert pages.write(6, "layers.0", TABLE, 0, parts)


def test_refuses_what_does_not_fit(pages):
    parts = pages.read("layers.0", TABLE, 0, 2)
    with pytest.raises(ValueError, match=r"layers\.0 has 4 parts, 1 were given"):
        pages.write(1, "layers.0", TABLE, 0, parts[:1])
    with pytest.raises(ValueError, match="key of layers"):
        pages.write(1, "layers.0", TABLE, 0, [parts[0].float(), *parts[1:]])
    with pytest.raises(ValueError, match="value_scale of layers"):
        pages.write(1, "layers.0", TABLE, 0, [*parts[:3], parts[3][:1]])
    with pytest.raises(ValueError, match=r"tokens \[11, 13\) are not in 3 blocks of 4"):
        pages.write(1, "layers.0", TABLE, 11, parts)
    with pytest.raises(ValueError, match="there is no layer"):
        pages.read("layers.2", TABLE, 0, 1)
    with pytest.raises(ValueError, match=r"lie in blocks \[0\]"):
        pages.read("layers.0", (3, 0), 4, 6)
    pages.read("layers.0", (0, 3), 4, 6)


def test_regions_are_the_memory(pages):
    for region, part in zip(pages.regions("layers.1"), pages.tensors["layers.1"], strict=True):
        assert region.address + 3 * region.block_bytes == part[3].data_ptr()
        assert (region.num_blocks, region.device) == (32, "cpu")


def test_same_is_bit_for_bit():
    one = torch.tensor([0.0, float("nan")])
    assert same([one], [one.clone()])
    assert not same([one], [-one])
    assert not same([one], [one.double()])
    assert not same([one], [one, one])
