"""An order of requests that does not go with a block cache's usual policy."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.executor import Orderable, SchedulerOffer, SchedulingPolicy
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_schedulers() -> Sequence[SchedulerOffer]:
    return (
        SchedulerOffer(
            name="acme-last-first", target="acme_conflict.plugin:LastFirst", priority=-10, conflicts=("cache:lru",)
        ),
    )


class LastFirst(SchedulingPolicy):
    def key(self, request: Orderable) -> tuple[float, ...]:
        return (-request.arrival_time,)
