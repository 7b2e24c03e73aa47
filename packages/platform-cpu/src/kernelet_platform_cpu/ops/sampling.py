"""The ops of sampling; their signatures are in ``kernelet.sampling.ops``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from kernelet_platform_cpu.linear.packed import number_of
from kernelet_platform_cpu.native import required
from kernelet_platform_cpu.ops.rows import rows_of

if TYPE_CHECKING:
    from kernelet.sampling.ops import Draws


def sample(logits: Tensor, draws: Draws | None) -> tuple[Tensor, Tensor]:
    """Tokens and maxima of rows [rows, vocab], read as they are stored; nothing is sorted."""
    rows = rows_of(logits)
    tokens = torch.empty(len(logits), dtype=torch.int64)
    maxima = torch.empty(len(logits), dtype=torch.float64)
    given = () if draws is None else (draws.temperature, draws.top_k, draws.top_p, draws.min_p, draws.number)
    columns = [column.contiguous() for column in given]
    required().sample(
        rows.address,
        rows.stride,
        len(logits),
        logits.shape[-1],
        number_of(logits.dtype),
        *([column.data_ptr() for column in columns] or [0] * 5),
        tokens.data_ptr(),
        maxima.data_ptr(),
    )
    return tokens, maxima


def apply_token_mask(logits: Tensor, masks: Tensor, rows: Tensor) -> Tensor:
    """-inf where a row's mask has a 0, in the rows as they are stored."""
    if len(logits) and logits.stride(-1) != 1:
        raise ValueError(f"logits must have their columns side by side, not {logits.stride(-1)} elements apart")
    if (missing := -(-logits.shape[-1] // 32) - masks.shape[-1]) > 0:
        masks = functional.pad(masks, (0, missing))
    masks, rows = masks.contiguous(), rows.contiguous()
    required().apply_token_mask(
        logits.data_ptr(),
        logits.stride(0),
        logits.shape[-1],
        number_of(logits.dtype),
        masks.data_ptr(),
        masks.shape[-1],
        rows.data_ptr(),
        len(rows),
    )
    return logits
