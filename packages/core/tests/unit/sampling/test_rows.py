from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelet.sampling.rows import best, block_sums, first_maximum, largest, running_sums, wide


@pytest.mark.parametrize("size", [1, 255, 256, 1000, 50257])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sums_are_right_and_the_same_bits_for_any_rows_and_threads(size, dtype):
    rows = torch.rand(9, size, dtype=dtype, generator=torch.Generator().manual_seed(size))
    sums = block_sums(rows)
    assert running_sums(sums)[:, -1] == pytest.approx(rows.double().sum(-1).numpy(), rel=1e-12)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            for count in (1, 2, 5):
                assert torch.equal(block_sums(rows[:count]), sums[:count])
                assert torch.equal(rows[9 - count :].exp(), rows.exp()[9 - count :])
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("size", [1, 10, 64, 129, 5000])
@pytest.mark.parametrize("levels", [3, 10**6])
def test_best_is_a_stable_sort(size, levels):
    random = np.random.default_rng(size)
    for dtype in (np.float32, np.float64):
        values = random.integers(0, levels, size).astype(dtype)
        values[random.random(size) < 0.2] = -np.inf
        expected = sorted(range(size), key=lambda token: (-values[token], token))
        for k in {1, min(2, size), min(40, size), size}:
            assert best(values, k).tolist() == expected[:k]
            assert largest(values, k).tolist() == sorted(expected[:k])


def test_first_maximum_takes_the_lowest_index():
    rows = torch.tensor([[1.0, 5.0, 5.0], [2.0, 2.0, 2.0], [0.0, 1.0, 9.0]])
    assert first_maximum(rows) == [1, 0, 2]
    assert first_maximum(rows.double()) == [1, 0, 2]


def test_wide():
    assert wide(torch.ones(2, dtype=torch.bfloat16)).dtype is torch.float32
    assert wide(torch.ones(2, dtype=torch.float64)).dtype is torch.float64
