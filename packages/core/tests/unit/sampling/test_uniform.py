from __future__ import annotations

import numpy as np
import pytest

from kernelet.sampling.uniform import uniform


def test_a_function_of_seed_and_position():
    assert uniform(5, 9) == uniform(5, 9)
    assert len({uniform(seed, position) for seed in range(30) for position in range(30)}) == 900


def test_equals_numpys_own_conversion():
    generator = np.random.Generator(np.random.Philox(key=123, counter=45))
    assert uniform(123, 45) == generator.random()


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**63 - 1, 2**64 + 5, 2**128 - 1])
def test_equals_numpys_generator(seed):
    for position in (0, 1, 7, 4095, 2**31, 2**40):
        raw = int(np.random.Philox(key=seed, counter=position).random_raw())
        assert uniform(seed, position) == (raw >> 11) * 2.0**-53


def test_even_over_positions_and_over_seeds():
    for numbers in ([uniform(3, p) for p in range(4000)], [uniform(s, 3) for s in range(4000)]):
        counts, _ = np.histogram(numbers, bins=20, range=(0, 1))
        # 19 degrees of freedom; 43.8 is exceeded once in a thousand
        assert ((counts - 200) ** 2 / 200).sum() < 43.8
        assert min(numbers) >= 0
        assert max(numbers) < 1


def test_large_seeds():
    assert 0 <= uniform(2**63 - 1, 2**31) < 1
    with pytest.raises(ValueError, match="key"):
        uniform(-1, 0)
