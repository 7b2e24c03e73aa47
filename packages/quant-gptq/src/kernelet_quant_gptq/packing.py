"""The format's words: values of 2, 3, 4 or 8 bits, one after the other in int32; those of 3 bits straddle words."""

from __future__ import annotations

import torch
from torch import Tensor

WORD = 32


def words(count: int, bits: int) -> int:
    """Words that hold so many values."""
    return -(-count * bits // WORD)


def unpack(packed: Tensor, bits: int, count: int) -> Tensor:
    """int32 [rows, words] -> uint8 [rows, count], lowest bits first.

    Args:
        packed: Of 3 bits, words in threes.
        bits: Of a value.
        count: Values of a row.
    """
    mask = 2**bits - 1
    step, each = (3, WORD) if bits == 3 else (1, WORD // bits)
    values = torch.empty(len(packed), packed.shape[1] // step * each, dtype=torch.uint8)
    for index in range(each):
        word, shift = divmod(index * bits, WORD)
        field = packed[:, word::step] >> shift
        if shift + bits > WORD:
            low = WORD - shift
            field = (field & (2**low - 1)) | (packed[:, word + 1 :: step] << low)
        values[:, index::each] = field & mask
    return values[:, :count]


def pack(values: Tensor, bits: int) -> Tensor:
    """[rows, count] with values below ``2 ** bits`` -> int32 [rows, words]; of 3 bits, counts of 32."""
    rows, count = values.shape
    step, each = (3, WORD) if bits == 3 else (1, WORD // bits)
    padded = torch.zeros(rows, -(-count // each) * each, dtype=torch.int64)
    padded[:, :count] = values
    packed = torch.zeros(rows, padded.shape[1] // each * step, dtype=torch.int64)
    for index in range(each):
        word, shift = divmod(index * bits, WORD)
        packed[:, word::step] |= padded[:, index::each] << shift
        if shift + bits > WORD:
            packed[:, word + 1 :: step] |= padded[:, index::each] >> (WORD - shift)
    packed &= 2**WORD - 1
    return torch.where(packed < 2**31, packed, packed - 2**WORD).to(torch.int32)
