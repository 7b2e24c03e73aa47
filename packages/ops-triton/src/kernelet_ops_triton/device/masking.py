"""Which tokens a row of logits may give."""

from __future__ import annotations

import triton
import triton.language as tl

# fmt: off


@triton.jit
def mask_tokens(
    logits: tl.tensor, masks: tl.tensor, rows: tl.tensor, logits_stride: tl.tensor, words: tl.tensor,
    vocab: tl.constexpr, block_n: tl.constexpr,
) -> None:
    """Grid: masks; tokens, ``block_n`` a program.

    Args:
        logits: [rows, vocab]; rows lie ``logits_stride`` apart. What may not be chosen becomes -inf.
        masks: int32 [n, words]: token t is bit t % 32 of word t // 32.
        rows: int64 [n]: the row of each mask.
        logits_stride: Elements.
        words: Of a mask; tokens beyond them may not be chosen.
    """
    index = tl.program_id(0)
    token = tl.program_id(1) * block_n + tl.arange(0, block_n)
    inside = token < vocab
    word = tl.load(masks + index.to(tl.int64) * words + token // 32, mask=inside & (token // 32 < words), other=0)
    forbidden = inside & (((word >> (token % 32)) & 1) == 0)
    into = logits + tl.load(rows + index) * logits_stride + token
    lowest = tl.full([block_n], float("-inf"), tl.float32).to(logits.dtype.element_ty)
    tl.store(into, lowest, mask=forbidden)
