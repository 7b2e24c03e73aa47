"""How the ops of sampling are called: rows whose number and bounds lie far from the border of two tokens; masks."""

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

WORDS = -(-VOCAB // 32)
"""Of a mask that has a bit for every token."""

CHOICES = ("greedy", "temperature", "top_k", "top_p", "min_p", "top_k and top_p", "min_p and top_p")


def sampling_cases() -> Iterator[OpCase]:
    """All ways to call ``sample`` and ``apply_token_mask``."""
    yield OpCase(op="sample", words="no draws", make=_make(None))
    for words in (*CHOICES, "all mixed"):
        yield OpCase(op="sample", words=words, make=_make(words))
    yield OpCase(op="apply_token_mask", words="every row", make=_make_masked(1))
    yield OpCase(op="apply_token_mask", words="every other row, from the last to the first", make=_make_masked(2))
    yield OpCase(op="apply_token_mask", words="fewer words than tokens", make=_make_masked(1, WORDS // 2))


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


def _make_masked(step: int, width: int = WORDS) -> Callable[[Drawn], Call]:
    def make(drawn: Drawn) -> Call:
        logits = drawn.row("logits", VOCAB, scale=8.0)
        chosen = [index for index, seed in enumerate(drawn.rows) if seed % step == 0][:: 1 if step == 1 else -1]
        words = np.stack([_mask(drawn.rows[index]) for index in chosen]) if chosen else np.empty((0, WORDS))
        masks, rows = torch.from_numpy(words[:, :width].astype(np.int32)), torch.tensor(chosen, dtype=torch.int64)

        def outputs(result: Any) -> Mapping[str, Tensor]:
            check(
                isinstance(result, Tensor) and result.data_ptr() == logits.data_ptr(),
                "apply_token_mask must change the logits in place, and return them",
            )
            allowed = result != -torch.inf
            return {"mask": allowed.to(result.dtype), "result": torch.where(allowed, result, 0.0)}

        return Call(arguments=(logits, masks, rows), fixed=(masks, rows), outputs=outputs)

    return make


def _mask(seed: int) -> NDArray[np.int32]:
    """Bits of one row: a few, half, or nearly all, at times whole words; bits beyond the vocabulary too."""
    random = np.random.default_rng((7, seed))
    bits = random.random(WORDS * 32) < random.choice([0.01, 0.5, 0.99])
    for word in random.integers(0, len(bits) // 32, size=4):
        bits[32 * word : 32 * word + 32] = bool(random.integers(2))
    return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32)


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
