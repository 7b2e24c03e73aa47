from __future__ import annotations

import math
from itertools import islice, pairwise

import numpy as np
import pytest

from kernelet.cli.serve_load.arrivals import arrivals

COUNT = 20_000


def gaps(rate, burstiness, seed=1):
    times = list(islice(arrivals(rate, burstiness, seed), COUNT))
    assert times[0] == 0
    return np.array([after - before for before, after in pairwise(times)])


@pytest.mark.parametrize("burstiness", [0.25, 1.0, 4.0])
def test_rate_and_burstiness(burstiness):
    """A gamma distribution of shape k has the coefficient of variation 1 / sqrt(k)."""
    found = gaps(8.0, burstiness)
    assert (found >= 0).all()
    assert found.mean() == pytest.approx(1 / 8, rel=0.05)
    assert found.std() / found.mean() == pytest.approx(1 / math.sqrt(burstiness), rel=0.05)


def test_poisson_arrivals_are_exponential():
    """The share that waits longer than the mean is 1/e."""
    found = gaps(5.0, 1.0)
    assert (found > 0.2).mean() == pytest.approx(math.exp(-1), abs=0.015)


def test_a_seed_repeats():
    assert (gaps(3.0, 1.0, seed=4) == gaps(3.0, 1.0, seed=4)).all()
    assert (gaps(3.0, 1.0, seed=4) != gaps(3.0, 1.0, seed=5)).any()


def test_an_infinite_rate_sends_all_at_once():
    assert set(islice(arrivals(math.inf, 1.0, 0), 5)) == {0.0}
