"""Hooks that offer stat loggers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.stats import StatLoggerOffer


@hookspec
def kernelet_stat_loggers() -> Sequence[StatLoggerOffer]:
    """Offers stat loggers.

    When: process start, while registries are filled.
    Process: one designated frontend.
    Returns: offers; duplicates of a name are an error.
    Order: all run, by name; one that raises is switched off.
    Since: stats 1.0.
    """
    raise NotImplementedError
