from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.testing.kv_connector.pages import PlainPages, plain_layout, same
from kernelet_kv_transfer.packing import ALIGNMENT, PARTS, bytes_for, cut, first_end, pack, unpack

FORMS = {"float32": "", "bfloat16": "", "float8_e4m3fn": "float32"}


@pytest.mark.parametrize("dtype", FORMS)
@settings(max_examples=25)
@given(data=st.data())
def test_what_is_packed_is_unpacked_into_blocks_of_another_size(dtype, data):
    start = data.draw(st.integers(0, 15))
    end = data.draw(st.integers(start + 1, 16))
    first = data.draw(st.integers(start, end - 1))
    last = data.draw(st.integers(first + 1, end))
    form = {"dtype": dtype, "scales": FORMS[dtype], "num_kv_heads": 3, "head_size": 5}
    source = PlainPages([plain_layout(**form, group=group) for group in (0, 1)])
    sink = PlainPages([plain_layout(**form, group=group, block_size=8) for group in (0, 1)])
    source.fill(3)
    sink.fill(4)
    memory = torch.zeros(bytes_for(source.layouts, 16), dtype=torch.uint8)
    theirs, ours = ((4, 2, 9, 1), (1, 2, 3, 4)), ((3, 1), (2, 5))
    assert pack(source, theirs, start, end, memory) == bytes_for(source.layouts, end - start) <= len(memory)
    before = sink.snapshot()
    assert unpack(sink, 1, ours, start, end, memory, inside=(first, last))
    for layout in source.layouts:
        for layer in layout.layers:
            copied = sink.read(layer, ours[layout.group], first, last)
            assert same(copied, source.read(layer, theirs[layout.group], first, last))
    assert unpack(sink, 1, ours, start, end, memory)
    sink.close([1])
    assert not unpack(sink, 1, ours, start, end, memory)
    assert set(sink.snapshot()) == set(before)


@given(st.integers(0, 50), st.integers(1, 300), st.integers(1, 1 << 16))
def test_parts_follow_each_other_and_fit(start, tokens, most):
    layouts = [plain_layout()]
    parts = list(cut(layouts, start, start + tokens, most))
    assert [part[0] for part in parts] == [start, *(part[1] for part in parts[:-1])] and parts[-1][1] == start + tokens
    assert len(parts) >= min(PARTS, tokens)
    for first, last in parts:
        assert last == first + 1 or bytes_for(layouts, last - first) <= most


def test_sizes_are_whole_and_aligned():
    layout = plain_layout(num_layers=3, num_kv_heads=1, head_size=3, dtype="float8_e4m3fn", scales="float32")
    assert bytes_for([layout], 1) == 3 * 4 * ALIGNMENT
    assert bytes_for([layout], 100) == 3 * (2 * 304 + 2 * 400)


def test_what_was_dropped_behind_a_window():
    layout = plain_layout(window=6)
    # token e sees [e - 5, e]: with tokens from 8 on there, 13 is the first that misses nothing
    assert first_end([plain_layout(), plain_layout(window=6, group=1)], ((1, 2, 3, 4), (0, 0, 5, 6))) == 13
    assert first_end([layout], ((4, 5),)) == 0


def test_dropped_tokens_travel_as_zeros_and_are_not_written():
    source, sink = (PlainPages([plain_layout(window=6)]) for _ in range(2))
    source.fill(3)
    memory = torch.full((bytes_for(source.layouts, 16),), 255, dtype=torch.uint8)
    pack(source, ((0, 0, 5, 6),), 4, 16, memory)
    assert unpack(sink, 1, ((1, 2, 3, 4),), 4, 16, memory)
    assert all(not part.any() for part in sink.read("layers.0", (1, 2, 3, 4), 0, 8))
    assert same(sink.read("layers.1", (1, 2, 3, 4), 8, 16), source.read("layers.1", (0, 0, 5, 6), 8, 16))
    assert unpack(sink, 1, ((0, 0, 0, 7),), 4, 16, memory)
    assert same(sink.read("layers.1", (0, 0, 0, 7), 12, 16), source.read("layers.1", (0, 0, 5, 6), 12, 16))
