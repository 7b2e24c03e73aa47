"""What one rank counts, for the engine's statistics."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping


class Counts:
    """Sums by name since the last ``take``; thread-safe."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, name: str, count: int = 1) -> None:
        with self._lock:
            self._counts[name] += count

    def take(self) -> Mapping[str, float]:
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return {name: float(count) for name, count in counts.items()}
