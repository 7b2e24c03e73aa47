"""When requests are sent: a Poisson process, or one that is burstier or more even."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator


def arrivals(rate: float, burstiness: float, seed: int) -> Iterator[float]:
    """Seconds from the start, one for each request, without end; all 0 for an infinite rate.

    The time between two is gamma distributed with shape ``burstiness`` and mean ``1 / rate``: 1 is a Poisson process,
    less comes in bursts, more is even.
    """
    generator = random.Random(seed)
    now = 0.0
    while True:
        yield now
        if math.isfinite(rate):
            now += generator.gammavariate(burstiness, 1.0 / (rate * burstiness))
