"""Transfers that are over before they were confirmed: workers are told, and blocks wait until they know."""

from __future__ import annotations

from kernelet.cache.manager import CacheManager
from kernelet.cache.tables import BlockHold


class Fences:
    """From ``raise_`` until the step that tells the workers has ended, the blocks of a transfer are nobody's."""

    def __init__(self, cache: CacheManager) -> None:
        self._cache = cache
        self._cancels: dict[str, list[int]] = {}
        self._new: list[BlockHold] = []
        self._sent: list[tuple[int, BlockHold]] = []

    def raise_(self, connector: str, transfer: int, hold: BlockHold) -> None:
        """The next step cancels a transfer."""
        self._cancels.setdefault(connector, []).append(transfer)
        self._new.append(hold)

    @property
    def pending(self) -> bool:
        """Whether a step must tell workers something."""
        return bool(self._cancels)

    @property
    def holding(self) -> bool:
        """Whether blocks will come back."""
        return bool(self._new or self._sent)

    def send(self, step: int) -> dict[str, list[int]]:
        """What a step tells, by connector."""
        cancels, self._cancels = self._cancels, {}
        self._sent += [(step, hold) for hold in self._new]
        self._new = []
        return cancels

    def ended(self, step: int) -> None:
        """A step has ended, and all before it."""
        while self._sent and self._sent[0][0] <= step:
            self._cache.release(self._sent.pop(0)[1])
