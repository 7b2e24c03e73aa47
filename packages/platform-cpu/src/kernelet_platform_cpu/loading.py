"""What the platform does while weights are loaded."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from kernelet.contracts.op import PackedWeights
from kernelet_platform_cpu.allocator import keep_freed_memory, return_free_memory, return_freed_weights


class WhileLoading(PackedWeights):
    """Gives freed memory back until everything is loaded, and keeps packed weights where there is a place for them.

    Args:
        kept: Where packed weights are kept; None: nowhere.
    """

    def __init__(self, kept: PackedWeights | None) -> None:
        return_freed_weights()
        return_free_memory()
        self._kept = kept

    def load(self, key: str) -> Mapping[str, Tensor] | None:
        return None if self._kept is None else self._kept.load(key)

    def save(self, key: str, tensors: Mapping[str, Tensor]) -> None:
        if self._kept is not None:
            self._kept.save(key, tensors)
        return_free_memory()

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
        keep_freed_memory()
