"""What was made of constraints, as long as there is room for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class SizedCache(Generic[T]):
    """Keeps what was used last, up to so many bytes. Safe to use from several threads.

    Args:
        max_bytes: Of all that is kept; what is larger alone is not kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable) -> T | None:
        """What was put there; None: it is not there any more, or never was."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: T, num_bytes: int) -> None:
        """Keeps a value, and forgets those that were not used for longest."""
        with self._lock:
            before = self._kept.pop(key, None)
            if before is not None:
                self._bytes -= before[1]
            if num_bytes > self._max_bytes:
                return
            self._kept[key] = (value, num_bytes)
            self._bytes += num_bytes
            while self._bytes > self._max_bytes:
                _, (_, size) = self._kept.popitem(last=False)
                self._bytes -= size

    @property
    def num_bytes(self) -> int:
        """Of all that is kept."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._kept)
