"""Attention in steps that are recorded as a graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelet.contracts.attention import AttentionBatch


class CapturesDecode(ABC):
    """Mixin of an ``Attention`` whose decode steps can be recorded once and replayed. Since attention 1.4.

    A replay launches what was launched when it was recorded: the same kernels with the same arguments. What differs
    from step to step therefore lies in tensors that stay where they are. Without this mixin steps are launched kernel
    by kernel.
    """

    @abstractmethod
    def decode_metadata(self, num_requests: int, num_blocks: int, device: Any) -> Any:
        """Metadata of steps in which so many requests compute one token each, in tensors that stay where they are.

        What ``write_kv`` and ``forward`` launch with it depends on these numbers alone, and waits for nothing on the
        host once both have run.

        Args:
            num_requests: Of every step.
            num_blocks: Width of the block table; no request is longer.
            device: Where tensors live.
        """

    @abstractmethod
    def refill(self, metadata: Any, batch: AttentionBatch) -> None:
        """Makes it the metadata of a step; ordered with later work, not with the host.

        Rows that fill a batch up are requests of one token in the null block, at its first slot: what is stored and
        computed there is nobody's.

        Args:
            metadata: Of ``decode_metadata``.
            batch: ``num_requests`` requests of one token each, ``num_blocks`` blocks wide. Its arrays may be changed
                once this returns.
        """
