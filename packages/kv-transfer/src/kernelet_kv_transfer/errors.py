"""What goes wrong between engines."""

from __future__ import annotations

from collections.abc import Callable

from kernelet.errors import KerneletError


class TransferError(KerneletError):
    """A transfer failed; its request is computed instead. The local memory is free again."""


class AbandonedError(TransferError):
    """A read was given up that may still write into local memory.

    Attributes:
        settled: Whether it no longer does.
    """

    def __init__(self, message: str, settled: Callable[[], bool]) -> None:
        super().__init__(message)
        self.settled = settled
