"""Tables of rotary position embeddings."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kernelet.layers.context import ModelContext
from kernelet.layers.dtypes import wide
from kernelet.layers.rope_scaling import RopeParameters, inverse_frequencies


class RopeRows(NamedTuple):
    """Rows of a table for the tokens of a step.

    Attributes:
        cos: [tokens, 1, size] in the wide dtype of the model.
        sin: The same; negative where the rotation subtracts.
        interleaved: Pairs are neighbours (2i, 2i + 1), not (i, i + size / 2).
    """

    cos: Tensor
    sin: Tensor
    interleaved: bool


class RopeTable:
    """cos and sin of every position up to the largest length that the engine serves.

    Angles, cos and sin are float32 whatever the model's dtype, since checkpoints were trained with such angles and
    `transformers` computes them so; kept in the wide dtype. The table depends on the configuration alone.

    Attributes:
        table: [max_model_len, 2, 1, size].
    """

    def __init__(self, context: ModelContext, parameters: RopeParameters, *, interleaved: bool = False) -> None:
        frequencies, factor = inverse_frequencies(parameters)
        angles = torch.arange(parameters.max_model_len, dtype=torch.float32)[:, None] * frequencies
        cos, sin = angles.cos() * factor, angles.sin() * factor
        if interleaved:
            cos, sin = cos.repeat_interleave(2, -1), torch.stack((-sin, sin), -1).flatten(-2)
        else:
            cos, sin = torch.cat((cos, cos), -1), torch.cat((-sin, sin), -1)
        table = torch.stack((cos, sin), 1).unsqueeze(2)
        self.table = table.to(dtype=wide(context.dtype), device=context.device)
        self.interleaved = interleaved

    def rows(self, positions: Tensor) -> RopeRows:
        """Rows of positions, int64 [tokens]."""
        picked = self.table[positions]
        return RopeRows(picked[:, 0], picked[:, 1], self.interleaved)
