"""Random numbers that depend on a request's seed and a token's position, and on nothing else."""

from __future__ import annotations

import numpy as np


def uniform(seed: int, position: int) -> float:
    """A number in [0, 1) for one token: the first 53 bits of Philox-4x64-10 (Salmon et al. 2011).

    Args:
        seed: Key of the generator, not negative.
        position: Index of the token in its request; the generator's counter.
    """
    bits = np.random.Philox(key=seed, counter=position).random_raw()
    return float(int(bits) >> 11) * 2.0**-53
