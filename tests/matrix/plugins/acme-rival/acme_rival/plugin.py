"""Offers a name that the core's own plugin has."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.executor import SchedulerOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_schedulers() -> Sequence[SchedulerOffer]:
    return (SchedulerOffer(name="fcfs", target="acme_rival.policy:Policy"),)
