"""Hooks that offer executors, communicators and scheduling policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.executor import CommunicatorOffer, ExecutorOffer, SchedulerOffer


@hookspec
def kernelet_executors() -> Sequence[ExecutorOffer]:
    """Offers ways to launch workers.

    When: process start, while registries are filled.
    Process: engine.
    Returns: offers; duplicates of a name are an error.
    Order: one: named, else the highest priority.
    Since: executor 1.0.
    """
    raise NotImplementedError


@hookspec
def kernelet_communicators() -> Sequence[CommunicatorOffer]:
    """Offers collectives between ranks.

    When: process start, while registries are filled.
    Process: worker.
    Returns: offers; duplicates of a name are an error.
    Order: one: named, else the platform's.
    Since: executor 1.0.
    """
    raise NotImplementedError


@hookspec
def kernelet_schedulers() -> Sequence[SchedulerOffer]:
    """Offers orderings of requests.

    When: process start, while registries are filled.
    Process: engine.
    Returns: offers; duplicates of a name are an error.
    Order: one: named, else the highest priority.
    Since: executor 1.0.
    """
    raise NotImplementedError
