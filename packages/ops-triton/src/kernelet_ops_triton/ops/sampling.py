"""Ops of sampling; signatures in ``kernelet.sampling.ops``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from triton import cdiv

from kernelet_device_triton.launching import target_for
from kernelet_ops_triton import configurations
from kernelet_ops_triton.device import masking, sampling
from kernelet_ops_triton.rows import rows_of

if TYPE_CHECKING:
    from kernelet.sampling.ops import Draws


def sample(logits: Tensor, draws: Draws | None) -> tuple[Tensor, Tensor]:
    """One program a row: nothing but tokens and maxima leaves the device."""
    rows, vocab = logits.shape
    tokens = torch.empty(rows, dtype=torch.int64, device=logits.device)
    maxima = torch.empty(rows, dtype=torch.float64, device=logits.device)
    if not rows:
        return tokens.cpu(), maxima.cpu()
    logits = rows_of(logits)
    target_for(logits.device)
    tile = configurations.of_vocabulary(vocab)
    sampling.sample[rows,](
        logits,
        maxima if draws is None else packed(draws).to(logits.device),
        tokens,
        maxima,
        logits.stride(0),
        vocab=vocab,
        draw=draws is not None,
        block=tile.block_n,
        num_warps=tile.num_warps,
    )
    return tokens.cpu(), maxima.cpu()


def packed(draws: Draws) -> Tensor:
    """float64 [rows, 5], as the kernel reads them; for min_p the largest distance from the best token in float32."""
    distance = -torch.log(draws.min_p)
    narrow = distance.float()
    lower = torch.nextafter(narrow, torch.tensor(-torch.inf))
    distance = torch.where(narrow.double() > distance, lower, narrow).double().abs()  # min_p 1 has -0.0
    columns = (draws.temperature, draws.top_k.double(), draws.top_p, distance, draws.number)
    return torch.stack(columns, 1)


def apply_token_mask(logits: Tensor, masks: Tensor, rows: Tensor) -> Tensor:
    """In place."""
    if not len(rows):
        return logits
    vocab = logits.shape[-1]
    target_for(logits.device)
    tile = configurations.of_vocabulary(vocab)
    into = rows_of(logits)
    masking.mask_tokens[len(rows), cdiv(vocab, tile.block_n)](
        into,
        masks.to(logits.device),
        rows.to(logits.device),
        into.stride(0),
        masks.shape[1],
        vocab=vocab,
        block_n=tile.block_n,
        num_warps=tile.num_warps,
    )
    return logits if into is logits else logits.copy_(into)
