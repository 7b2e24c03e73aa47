"""Hooks that offer kinds of per-layer state and eviction policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.cache import CachePolicyOffer, CacheSpecOffer


@hookspec
def kernelet_cache_specs() -> Sequence[CacheSpecOffer]:
    """Offers kinds of per-layer state with their group manager.

    When: process start, while registries are filled.
    Process: engine, worker.
    Returns: offers; duplicates of a name are an error.
    Order: the kind of each layer's spec selects; a kind has one owner.
    Since: cache 1.0.
    """
    raise NotImplementedError


@hookspec
def kernelet_cache_policies() -> Sequence[CachePolicyOffer]:
    """Offers eviction policies: of the prefix cache, and of stores of KV connectors.

    When: process start, while registries are filled.
    Process: engine, worker.
    Returns: offers; duplicates of a name are an error.
    Order: one: named, else the highest priority.
    Since: cache 1.0.
    """
    raise NotImplementedError
