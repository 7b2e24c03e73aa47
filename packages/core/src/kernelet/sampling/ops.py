"""The ops of sampling: which tokens a row of logits may give, and which one it gives.

====================  ==========================================================================================
``sample``            ``(logits [rows, vocab], draws) -> (tokens int64 [rows], maxima float64 [rows])``, both on
                      the host
``apply_token_mask``  ``(logits [rows, vocab], masks int32 [n, words], rows int64 [n]) -> logits``, changed in
                      place; masks and rows are on the host. Since op 1.3
====================  ==========================================================================================

``draws`` is a ``Draws``, or None: the best token of every row. Of equal tokens the lowest id is taken. A maximum is NaN
where its row holds one; the token of a row whose maximum is not finite means nothing. Logits stay as they are. A row's
token depends on no other row, nor on whether it was widened before: arithmetic is in float32, or float64 for float64.
It is the decomposition's (``kernelet.sampling.draw`` says how) but where a number lies on the border of two tokens, as
far as weights are rounded in float32.

Mask i belongs to logits row ``rows[i]``; no row has two. Token t is bit t % 32 of word t // 32, the lowest first; where
it is 0 the logit becomes -inf, whatever it was. A token that has no
word is forbidden too. All else keeps its bits; bits beyond the vocabulary mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kernelet.sampling.draw import draw_filtered, draw_from_all, is_filtered, scale_rows
from kernelet.sampling.rows import first_maximum, wide

SAMPLING = ("sample", "apply_token_mask")
"""Names of the ops of sampling."""


class Draw(NamedTuple):
    """What one row is drawn with; fields as of ``Draws``."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    number: float


@dataclass(frozen=True)
class Draws:
    """What rows are drawn with: tensors [rows] on the host.

    Attributes:
        temperature: float64; 0: the best token.
        top_k: int64; 0 and less: all.
        top_p: float64 in (0, 1].
        min_p: float64 in [0, 1].
        number: float64 in [0, 1): the place in the cumulative distribution.
    """

    temperature: Tensor
    top_k: Tensor
    top_p: Tensor
    min_p: Tensor
    number: Tensor

    def rows(self) -> list[Draw]:
        """Row by row."""
        columns = (self.temperature, self.top_k, self.top_p, self.min_p, self.number)
        return [Draw(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


Sample = Callable[[Tensor, Draws | None], tuple[Tensor, Tensor]]
ApplyTokenMask = Callable[[Tensor, Tensor, Tensor], Tensor]


def sample(logits: Tensor, draws: Draws | None) -> tuple[Tensor, Tensor]:
    """The decomposition, in torch and numpy."""
    rows = wide(logits)
    maxima = rows.amax(-1, keepdim=True)
    tokens = torch.zeros(len(rows), dtype=torch.int64)
    finite = maxima.flatten().isfinite().tolist()
    each = [None] * len(rows) if draws is None else draws.rows()
    greedy: list[int] = []
    free: list[tuple[int, Draw]] = []
    filtered: list[tuple[int, Draw]] = []
    for index, (draw, good) in enumerate(zip(each, finite, strict=True)):
        if good and (draw is None or draw.temperature == 0.0):
            greedy.append(index)
        elif good and draw is not None:
            (filtered if is_filtered(draw, rows.shape[-1]) else free).append((index, draw))
    if greedy:
        tokens[greedy] = torch.tensor(first_maximum(_select(rows, greedy)))
    if free:
        scaled = _scaled(rows, maxima, free)
        tokens[[index for index, _ in free]] = torch.tensor(draw_from_all(scaled, [draw.number for _, draw in free]))
    if filtered:
        for row, (index, draw) in zip(_scaled(rows, maxima, filtered).cpu().numpy(), filtered, strict=True):
            tokens[index] = draw_filtered(row, draw, draw.number)
    return tokens, maxima.flatten().double().cpu()


def apply_token_mask(logits: Tensor, masks: Tensor, rows: Tensor) -> Tensor:
    """The decomposition, in torch and numpy."""
    words = masks.numpy().astype("<i4", copy=False).view(np.uint8)
    allowed = np.unpackbits(words, axis=1, count=logits.shape[-1], bitorder="little").view(np.bool_)
    for row, mask in zip(rows.tolist(), torch.from_numpy(~allowed).to(logits.device), strict=True):
        logits[row].masked_fill_(mask, -torch.inf)
    return logits


@dataclass(frozen=True)
class SamplingOps:
    """The selected implementation of each op."""

    sample: Sample = sample
    apply_token_mask: ApplyTokenMask = apply_token_mask


def _select(rows: Tensor, indices: Sequence[int]) -> Tensor:
    return rows if len(indices) == len(rows) else rows[list(indices)]


def _scaled(rows: Tensor, maxima: Tensor, drawn: Sequence[tuple[int, Draw]]) -> Tensor:
    indices = [index for index, _ in drawn]
    chosen = rows[indices]  # a copy
    return scale_rows(chosen, maxima[indices], [draw.temperature for _, draw in drawn])
