from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet_quant_gptq.packing import pack, unpack, words


def test_words_by_hand():
    word = torch.tensor([[0x76543210]], dtype=torch.int32)
    assert unpack(word, 4, 8).tolist() == [[0, 1, 2, 3, 4, 5, 6, 7]]
    assert unpack(word, 8, 3).tolist() == [[0x10, 0x32, 0x54]]
    assert unpack(torch.tensor([[-1]], dtype=torch.int32), 2, 16).tolist() == [[3] * 16]


@given(bits=st.sampled_from([2, 3, 4, 8]), rows=st.integers(1, 4), count=st.integers(1, 100), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_the_bits_of_a_row_follow_each_other(bits, rows, count, seed):
    count = -(-count // 32) * 32 if bits == 3 else count
    values = torch.randint(0, 2**bits, (rows, count), generator=torch.Generator().manual_seed(seed))
    packed = pack(values, bits)
    assert packed.shape == (rows, words(count, bits))
    assert torch.equal(unpack(packed, bits, count).long(), values)
    for row, whole in zip(packed.tolist(), values.tolist(), strict=True):
        stream = sum((word % 2**32) << (32 * index) for index, word in enumerate(row))
        assert [(stream >> (bits * index)) % 2**bits for index in range(count)] == whole


@pytest.mark.parametrize("count, bits, expected", [(32, 3, 3), (64, 4, 8), (5, 4, 1), (9, 8, 3), (1, 2, 1)])
def test_words(count, bits, expected):
    assert words(count, bits) == expected
