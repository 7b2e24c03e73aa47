"""Presence, frequency and repetition penalties."""

from __future__ import annotations

from torch import Tensor, where

from kernelet.contracts.sampling import SamplerParams
from kernelet.sampling.history import TokenCounts


def has_penalties(params: SamplerParams) -> bool:
    """Whether any penalty changes logits."""
    return bool(params.presence_penalty or params.frequency_penalty) or params.repetition_penalty != 1.0


def apply_penalties(row: Tensor, params: SamplerParams, counts: TokenCounts) -> None:
    """Changes one row [vocab] in place: first repetition (Keskar et al. 2019), then frequency, then presence.

    Args:
        row: Logits.
        params: The request's parameters.
        counts: Tokens seen; those of the prompt only where there is a repetition penalty.
    """
    ids, generated = counts.tensors(row)
    if not len(ids):
        return
    values = row[ids]
    if params.repetition_penalty != 1.0:
        factor = params.repetition_penalty
        values = where(values > 0, values / factor, values * factor)
    values -= generated * params.frequency_penalty
    values -= (generated > 0).to(row.dtype) * params.presence_penalty
    row[ids] = values
