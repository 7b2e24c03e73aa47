"""Core's orderings of requests."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.executor import Orderable, SchedulingPolicy


class FCFSPolicy(SchedulingPolicy):
    """First come, first served."""

    def key(self, request: Orderable) -> Sequence[float]:
        return (request.arrival_time, request.arrival_index)


class PriorityPolicy(SchedulingPolicy):
    """Smaller ``priority`` first; among equals, first come, first served."""

    def key(self, request: Orderable) -> Sequence[float]:
        return (request.priority, request.arrival_time, request.arrival_index)
