"""Eviction policies of cache 1.x: made without arguments."""

from __future__ import annotations

from collections.abc import Callable

from kernelet.contracts.cache import CachePolicyOffer, EvictionPolicy
from kernelet.contracts.offer import Settings
from kernelet.kernel.older.base import Older, above


class EvictionPolicyV1(EvictionPolicy):
    """The base class as it was."""

    def __init__(self) -> None:
        """Had no settings and no size."""


def today(target: type[EvictionPolicy]) -> Callable[[Settings, int], EvictionPolicy]:
    """What makes a policy as cache 2.0 does."""

    def make(_settings: Settings, _num_blocks: int) -> EvictionPolicy:
        old: Callable[[], EvictionPolicy] = above(target, EvictionPolicyV1)
        return old()

    return make


OLDER = Older(offer=CachePolicyOffer, major=1, interface=EvictionPolicy, base=EvictionPolicyV1, today=today)
