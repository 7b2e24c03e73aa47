"""Numbers of 2 to 8 bits in 32-bit words, one after the other, the first in the lowest bits.

A number may lie in two words. Negative ones are moved up by half of the range first.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

WORD = 32


def words(count: int, bits: int) -> int:
    """How many words ``count`` numbers take."""
    return -(-count * bits // WORD)


def unpack(packed: Tensor, bits: int, count: int) -> Tensor:
    """int32 [rows, words] -> int8 [rows, count], from ``-2^(bits-1)``."""
    rows = len(packed)
    half = 1 << (bits - 1)
    if 8 % bits == 0:
        each = torch.arange(0, 8, bits, dtype=torch.uint8)
        parts = packed.contiguous().view(torch.uint8).unsqueeze(2) >> each & ((1 << bits) - 1)
        return parts.view(rows, -1)[:, :count].view(torch.int8).sub(half)
    groups = -(-count // WORD)
    padded = functional.pad(packed, (0, groups * bits - packed.shape[1])).view(rows, groups, bits)
    found = torch.empty(rows, groups, WORD, dtype=torch.int8)
    for index in range(WORD):
        word, shift = divmod(index * bits, WORD)
        value = padded[..., word].long() & 0xFFFFFFFF
        if shift + bits > WORD:
            value |= (padded[..., word + 1].long() & 0xFFFFFFFF) << WORD
        found[..., index] = (value >> shift & ((1 << bits) - 1)) - half
    return found.view(rows, -1)[:, :count].contiguous()


def pack(numbers: Tensor, bits: int) -> Tensor:
    """int8 [rows, count], from ``-2^(bits-1)`` -> int32 [rows, words]."""
    rows, count = numbers.shape
    groups = -(-count // WORD)
    above = functional.pad(numbers.long() + (1 << (bits - 1)), (0, groups * WORD - count)).view(rows, groups, WORD)
    found = torch.zeros(rows, groups, bits + 1, dtype=torch.int64)
    for index in range(WORD):
        word, shift = divmod(index * bits, WORD)
        shifted = above[..., index] << shift
        found[..., word] |= shifted & 0xFFFFFFFF
        found[..., word + 1] |= shifted >> WORD
    whole = found[..., :bits].reshape(rows, -1)[:, : words(count, bits)]
    return torch.where(whole >= 1 << (WORD - 1), whole - (1 << WORD), whole).to(torch.int32)
