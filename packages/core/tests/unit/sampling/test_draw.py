from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from kernelet.contracts.sampling import SamplerParams
from kernelet.sampling.draw import draw_filtered, draw_from_all, is_filtered, locate, scale_rows

CASES = [
    {"temperature": 0.7},
    {"top_k": 1},
    {"top_k": 5},
    {"top_p": 0.5},
    {"top_p": 0.93, "temperature": 1.8},
    {"top_p": 1e-9},
    {"min_p": 0.1},
    {"min_p": 1.0},
    {"top_k": 12, "top_p": 0.8},
    {"min_p": 0.05, "top_p": 0.7},
    {"min_p": 0.02, "top_k": 9, "top_p": 0.9, "temperature": 1.3},
]


def reference(logits, params):
    """What may be drawn and how likely, straight from the definitions, in Python floats: [(token, probability)]."""
    scaled = [x / params.temperature for x in logits]
    top = max(scaled)
    weights = [math.exp(x - top) for x in scaled]
    kept = [token for token in range(len(logits)) if weights[token] >= params.min_p]
    kept.sort(key=lambda token: (-weights[token], token))
    if params.top_k > 0:
        kept = kept[: params.top_k]
    total, reached, last = sum(weights[token] for token in kept), 0.0, 0
    for count, token in enumerate(kept):
        reached += weights[token]
        last = count
        if params.top_p < 1.0 and reached >= params.top_p * total:
            break
    kept = kept[: last + 1]
    total = sum(weights[token] for token in kept)
    return [(token, weights[token] / total) for token in kept]


def draw(logits, params, numbers):
    rows = torch.tensor(logits, dtype=torch.float64).repeat(len(numbers), 1)
    scaled = scale_rows(rows, rows.amax(-1, keepdim=True), [params.temperature] * len(numbers))
    if not is_filtered(params, len(logits)):
        return draw_from_all(scaled, numbers)
    return [draw_filtered(row, params, number) for row, number in zip(scaled.numpy(), numbers, strict=True)]


@pytest.mark.parametrize("values", CASES)
@pytest.mark.parametrize("size", [30, 700])
def test_distribution_is_exact(values, size):
    """An even grid of numbers must meet every token as often as its probability says."""
    params = SamplerParams(seed=0, **values)
    logits = np.random.default_rng(size).normal(scale=2.0, size=size).tolist()
    expected = dict(reference(logits, params))
    points = 2000
    drawn = draw(logits, params, [(i + 0.5) / points for i in range(points)])
    counts = np.bincount(drawn, minlength=size)
    assert set(np.flatnonzero(counts)) <= set(expected)
    for token in range(size):
        assert abs(counts[token] - points * expected.get(token, 0.0)) <= 1.01


def test_ties_go_to_the_lowest_ids():
    params = SamplerParams(seed=0, top_k=3)
    drawn = draw([1.0] * 500, params, [0.0, 0.34, 0.67, 0.999])
    assert drawn == [0, 1, 2, 2]


@pytest.mark.parametrize("number", [0.0, 0.5, 1 - 2**-53])
@pytest.mark.parametrize("values", [{}, {"top_p": 0.99}, {"top_k": 4}, {"min_p": 1e-3}])
def test_what_is_excluded_is_never_drawn(number, values):
    logits = [-math.inf] * 600
    logits[300], logits[301] = 1.0, -700.0
    assert draw(logits, SamplerParams(seed=0, **values), [number]) == [300]


def test_tiny_temperature_is_greedy():
    logits = np.random.default_rng(3).normal(size=300).tolist()
    best = int(np.argmax(logits))
    for values in ({}, {"top_p": 0.5}, {"top_k": 5}):
        assert draw(logits, SamplerParams(seed=0, temperature=1e-300, **values), [0.999]) == [best]


def test_locate_never_leaves_what_has_weight():
    running = np.cumsum([0.0, 0.25, 0.0, 0.5, 0.0])
    assert [locate(running, t) for t in (0.0, 0.24, 0.25, 0.74, 0.75, 9.0)] == [1, 1, 3, 3, 3, 3]


def test_is_filtered():
    assert not is_filtered(SamplerParams(seed=0, top_k=-1), 10)
    assert not is_filtered(SamplerParams(seed=0, top_k=10), 10)
    for values in ({"top_k": 9}, {"top_p": 0.9}, {"min_p": 0.1}):
        assert is_filtered(SamplerParams(seed=0, **values), 10)
