"""Hooks that offer platforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.platform import PlatformOffer


@hookspec
def kernelet_platforms() -> Sequence[PlatformOffer]:
    """Offers platforms: a probe, the configuration half, the device and its worker.

    When: process start, while registries are filled.
    Process: all.
    Returns: offers; duplicates of a name are an error.
    Order: one is selected: named, else the single available one of the highest priority; an equal best is an error.
    Since: platform 1.0.
    """
    raise NotImplementedError
