from __future__ import annotations

import pytest
import torch

from kernelet_quant_awq.packing import IN_ORDER, INTERLEAVED, pack, unpack, words_of_groups


def test_a_word_by_hand():
    word = torch.tensor([[0x76543210]], dtype=torch.int32)
    assert unpack(word, IN_ORDER)[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    # the fields of a word are columns 0, 2, 4, 6, 1, 3, 5 and 7
    assert unpack(word, INTERLEAVED)[:, 0].tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    assert unpack(torch.tensor([[-1]], dtype=torch.int32), IN_ORDER)[:, 0].tolist() == [15] * 8


@pytest.mark.parametrize("order", [IN_ORDER, INTERLEAVED])
def test_what_is_packed_is_unpacked(order):
    values = torch.randint(0, 16, (40, 5), generator=torch.Generator().manual_seed(1))
    packed = pack(values, order)
    assert packed.shape == (5, 5)
    assert packed.dtype == torch.int32
    assert torch.equal(unpack(packed, order).long(), values)


@pytest.mark.parametrize("groups, group_size, words", [(1, 128, 1), (9, 128, 2), (1, 64, 2), (17, 64, 4), (1, 32, 4)])
def test_words_of_groups(groups, group_size, words):
    assert words_of_groups(groups, group_size) == words
