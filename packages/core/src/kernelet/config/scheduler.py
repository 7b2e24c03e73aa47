"""The scheduler."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SchedulerConfig:
    """Limits of a step.

    Attributes:
        max_num_seqs: Requests in a step at most.
        max_num_batched_tokens: Tokens in a step at most; longer prompts are cut into chunks.
        policy: Name of a scheduler offer (``"fcfs"``, ``"priority"``, ...); None takes the best.
        depth: Steps in flight at most.
    """

    max_num_seqs: int = 64
    max_num_batched_tokens: int = 2048
    policy: str | None = None
    depth: int = 1
