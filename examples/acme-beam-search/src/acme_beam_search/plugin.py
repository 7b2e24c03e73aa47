"""What the package offers."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.executor import SchedulerOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_schedulers() -> Sequence[SchedulerOffer]:
    return (
        SchedulerOffer(
            name="beam-search",
            target="acme_beam_search.policy:SearchOrder",
            api="1.1",
            priority=-10,  # only when it is named: --scheduling-policy beam-search
            takes_extra_args=True,
            summary="The beams of a search together, earlier searches first",
        ),
    )
