from __future__ import annotations

import pytest
import torch

from kernelet.testing.kv_connector import PlainPages, plain_layout, same
from kernelet_kv_offload.chunks import Chunks
from kernelet_kv_offload.options import chunk_bytes

BLOCK = 4


def groups(dtype="float32", scales=""):
    full = plain_layout(dtype=dtype, scales=scales, block_size=BLOCK)
    windowed = plain_layout(dtype=dtype, scales=scales, block_size=2 * BLOCK, group=1, window=12)
    return [full, windowed]


@pytest.mark.parametrize("dtype, scales", [("float32", ""), ("bfloat16", ""), ("float8_e4m3fn", "float32")])
def test_from_pages_to_pages(dtype, scales):
    source, sink = PlainPages(groups(dtype, scales)), PlainPages(groups(dtype, scales))
    source.fill(1)
    chunks = Chunks(source, 8)
    assert chunks.num_bytes == chunk_bytes(source.layouts, 8)
    chunk = chunks.make()
    chunks.read(chunk, (2, 6), ((5, 3, 9), (4, 1)))
    assert Chunks(sink, 8).write(1, chunk, 8, 10, 15, ((0, 0, 7, 2), (6, 8)))
    for layout in source.layouts:
        from_blocks, at = (((5, 3, 9), 2), ((4, 1), 6))[layout.group]
        to_blocks = ((0, 0, 7, 2), (6, 8))[layout.group]
        for layer in layout.layers:
            wanted = source.read(layer, from_blocks, at + 2, at + 7)
            assert same(sink.read(layer, to_blocks, 10, 15), wanted)
            assert not sink.tensors[layer][0][to_blocks[-1], 15 % layout.block_size].float().any()


def test_blocks_that_were_dropped_are_left_out():
    pages = PlainPages(groups())
    chunks = Chunks(pages, 8)
    chunk = torch.ones(chunks.num_bytes // 4).view(torch.uint8)
    assert chunks.write(1, chunk, 8, 8, 16, ((1, 2, 3, 4), (0, 5)))
    layer = pages.layouts[1].layers[0]
    assert bool(pages.read(layer, (1, 5), 8, 16)[0].eq(1).all())
    assert chunks.write(1, chunk, 0, 0, 8, ((1, 2), (0, 5)))


def test_a_load_that_is_over_stops():
    pages = PlainPages(groups())
    chunks = Chunks(pages, 8)
    pages.close([1])
    assert not chunks.write(1, chunks.make(), 0, 0, 8, ((1, 2), (1,)))
    assert len(pages.refused) == 1


def test_what_a_window_needs():
    chunks = Chunks(PlainPages(groups()), 8)
    blocks = ((1, 2, 3, 4, 5, 6), (0, 4, 5))
    assert chunks.suffices(24, blocks)
    assert chunks.suffices(19, blocks)
    assert not chunks.suffices(18, blocks)  # the token behind sees 7 to 18
    assert chunks.suffices(3, ((1,), (2,)))
