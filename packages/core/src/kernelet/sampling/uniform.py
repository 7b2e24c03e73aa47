"""Random numbers that depend on a request's seed and a token's position, and on nothing else."""

from __future__ import annotations

MASK = (1 << 64) - 1
FACTORS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
ROUNDS = 10


def uniform(seed: int, position: int) -> float:
    """A number in [0, 1) for one token: the first 53 bits of Philox-4x64-10 (Salmon et al. 2011), as numpy draws them.

    Args:
        seed: Key of the generator, 0 to 2^128 - 1.
        position: Index of the token in its request; the generator's counter.
    """
    if not 0 <= seed < 1 << 128:
        raise ValueError(f"the key of a generator is from 0 to 2^128 - 1, not {seed}")
    first_factor, second_factor = FACTORS
    first_step, second_step = STEPS
    low, high = seed & MASK, seed >> 64
    a, b, c, d = position + 1, 0, 0, 0  # numpy counts before it draws
    for _ in range(ROUNDS):
        first, second = first_factor * a, second_factor * c
        a, b, c, d = (second >> 64) ^ b ^ low, second & MASK, (first >> 64) ^ d ^ high, first & MASK
        low, high = (low + first_step) & MASK, (high + second_step) & MASK
    return float(a >> 11) * 2.0**-53
