"""The format's words: eight values of 4 bits in an int32."""

from __future__ import annotations

import torch
from torch import Tensor

BITS = 4
EACH = 32 // BITS
MASK = 2**BITS - 1
INTERLEAVED = (0, 2, 4, 6, 1, 3, 5, 7)
"""Which of eight columns the fields of a word hold, lowest bits first, where words stand for outputs."""
IN_ORDER = tuple(range(EACH))


def unpack(words: Tensor, order: tuple[int, ...]) -> Tensor:
    """int32 [rows, words] -> uint8 [8 * words, rows], transposed."""
    rows, count = words.shape
    values = torch.empty(count * EACH, rows, dtype=torch.uint8)
    for field, column in enumerate(order):
        values[column::EACH] = ((words >> (BITS * field)) & MASK).T
    return values


def pack(values: Tensor, order: tuple[int, ...]) -> Tensor:
    """[columns, rows] with values from 0 to 15, columns a multiple of 8 -> int32 [rows, columns / 8]."""
    words = torch.zeros(values.shape[1], values.shape[0] // EACH, dtype=torch.int64)
    for field, column in enumerate(order):
        words |= values[column::EACH].T.long() << (BITS * field)
    return torch.where(words < 2**31, words, words - 2**32).to(torch.int32)


def words_of_groups(groups: int, group_size: int) -> int:
    """Words of a row's zero points where words stand for inputs: padded to what the format's kernels read at once."""
    words = -(-groups // EACH)
    multiple = {32: 4, 64: 2}.get(group_size, 1)
    return -(-words // multiple) * multiple
