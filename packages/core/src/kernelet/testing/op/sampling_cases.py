"""How the op of sampling is called: rows whose number and bounds lie far from the border of two tokens."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernelet.sampling.draw import kept_tokens
from kernelet.sampling.ops import Draw, Draws
from kernelet.testing.op.cases import Call, OpCase
from kernelet.testing.op.draw import Draw as Drawn
from kernelet.testing.verdict import check

VOCAB = 777
"""Of the rows; no multiple of any block."""

CHOICES = ("greedy", "temperature", "top_k", "top_p", "min_p", "top_k and top_p", "min_p and top_p")


def sampling_cases() -> Iterator[OpCase]:
    """All ways to call ``sample``."""
    yield OpCase(op="sample", words="no draws", make=_make(None))
    for words in (*CHOICES, "all mixed"):
        yield OpCase(op="sample", words=words, make=_make(words))


def _make(words: str | None) -> Callable[[Drawn], Call]:
    def make(drawn: Drawn) -> Call:
        # multiples of a quarter: many tokens are equal
        logits = (drawn.row("logits", VOCAB, scale=8.0).double().round() / 4).to(drawn.dtype)
        rows = [_draw(words, seed, row) for seed, row in zip(drawn.rows, logits.cpu().double().numpy(), strict=True)]
        draws = None if words is None else _columns(rows)
        return Call(arguments=(logits, draws), fixed=(logits,), outputs=_outputs)

    return make


def _outputs(result: Any) -> Mapping[str, Tensor]:
    tokens, maxima = result
    check(tokens.dtype == torch.int64, f"sample must return tokens in int64, not {tokens.dtype}")
    chosen = torch.zeros(len(tokens), VOCAB, dtype=torch.float64)
    chosen[torch.arange(len(tokens)), tokens.clamp(0, VOCAB - 1).cpu()] = 1.0
    return {"token": chosen, "maximum": maxima.clone()}


def _columns(rows: list[Draw]) -> Draws:
    floats = [torch.tensor([row[index] for row in rows], dtype=torch.float64) for index in (0, 2, 3, 4)]
    temperature, top_p, min_p, number = floats
    top_k = torch.tensor([row.top_k for row in rows], dtype=torch.int64)
    return Draws(temperature, top_k, top_p, min_p, number)


def _draw(words: str | None, seed: int, row: NDArray[np.float64]) -> Draw:
    """What a row is drawn with: in the middle of a token's part of the distribution."""
    random = np.random.default_rng((zlib.crc32((words or "").encode()), seed))
    kind = CHOICES[random.integers(len(CHOICES))] if words == "all mixed" else words
    if kind in {None, "greedy"} or not np.isfinite(row).all():
        return Draw(0.0, 0, 1.0, 0.0, 0.5)
    temperature = float(random.choice([0.5, 0.9, 2.0]))
    scaled = (row - row.max()) / temperature
    top_k = int(random.integers(1, 60)) if "top_k" in str(kind) else 0
    min_p = float(np.exp(scaled[np.argsort(-scaled)[random.integers(1, 40)]] - 0.01)) if "min_p" in str(kind) else 0.0
    draw = Draw(temperature, top_k, 1.0, min_p, 0.5)
    if "top_p" in str(kind):
        weights = np.sort(_weights(scaled, draw))[::-1]
        draw = draw._replace(top_p=_middle(weights, random))
    return draw._replace(number=_middle(_weights(scaled, draw), random))


def _weights(scaled: NDArray[np.float64], draw: Draw) -> NDArray[np.float64]:
    dropped = draw.top_k > 0 or draw.top_p < 1.0 or draw.min_p > 0.0
    weights: NDArray[np.float64] = np.exp(scaled[kept_tokens(scaled, draw)] if dropped else scaled)
    return weights


def _middle(weights: NDArray[np.float64], random: np.random.Generator) -> float:
    """The middle of a part that is not too small, as a share of all."""
    parts = weights / weights.sum()
    chosen = random.choice(np.flatnonzero(parts >= min(1e-3, parts.max())))
    return float(parts[:chosen].sum() + parts[chosen] / 2)
