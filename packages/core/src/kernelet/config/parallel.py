"""Ranks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ParallelConfig:
    """How a model is spread over ranks.

    Attributes:
        tensor_parallel_size: Ranks that share each layer.
        executor: Name of an executor offer; None takes the best for so many ranks.
        communicator: Name of a communicator offer; None takes the platform's.
    """

    tensor_parallel_size: int = 1
    executor: str | None = None
    communicator: str | None = None
