"""Random ways to cut a text; without anything of Kernelet's, so that each side makes the same ones."""

from __future__ import annotations

import random


def make_cut(num_tokens: int, seed: int) -> list[int]:
    """Where deltas end, counted in tokens: single ones, or bursts, as of speculative decoding."""
    draw = random.Random(f"cut {num_tokens} {seed}")
    longest = draw.choice((1, 2, 4, 8, 24, 80))
    ends: list[int] = []
    while (ends[-1] if ends else 0) < num_tokens:
        ends.append(min(num_tokens, (ends[-1] if ends else 0) + draw.randint(1, longest)))
    return ends


def make_cuts(num_tokens: int, num_cuts: int) -> list[list[int]]:
    """Token by token, and random ones."""
    return [list(range(1, num_tokens + 1)), *(make_cut(num_tokens, seed) for seed in range(num_cuts))]
