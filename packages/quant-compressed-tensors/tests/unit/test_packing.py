from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet_quant_compressed_tensors.packing import pack, unpack, words


def by_hand(row, bits):
    """One number after the other in one long number, which is cut into words."""
    whole = sum((value + (1 << (bits - 1))) << (index * bits) for index, value in enumerate(row))
    cut = [whole >> (32 * index) & 0xFFFFFFFF for index in range(-(-len(row) * bits // 32))]
    return [word - (1 << 32) if word >= 1 << 31 else word for word in cut]


@given(bits=st.integers(2, 8), rows=st.integers(1, 3), count=st.integers(1, 100), data=st.data())
@settings(max_examples=60, deadline=None)
def test_numbers_follow_each_other(bits, rows, count, data):
    half = 1 << (bits - 1)
    seed = data.draw(st.integers(0, 999))
    drawn = torch.randint(-half, half, (rows, count), generator=torch.Generator().manual_seed(seed)).to(torch.int8)
    packed = pack(drawn, bits)
    assert packed.dtype is torch.int32
    assert packed.shape == (rows, words(count, bits))
    assert packed.tolist() == [by_hand(row, bits) for row in drawn.tolist()]
    assert torch.equal(unpack(packed, bits, count), drawn)


def test_both_ends_of_the_range():
    for bits in range(2, 9):
        half = 1 << (bits - 1)
        ends = torch.tensor([[-half, half - 1] * 40], dtype=torch.int8)
        assert torch.equal(unpack(pack(ends, bits), bits, 80), ends)


def test_packed_numbers_may_lie_anyhow_in_memory():
    drawn = torch.arange(-8, 8, dtype=torch.int8).view(2, 8)
    packed = pack(drawn, 4).repeat_interleave(2, 1)[:, ::2]
    assert torch.equal(unpack(packed, 4, 8), drawn)
