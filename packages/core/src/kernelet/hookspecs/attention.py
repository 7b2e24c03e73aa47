"""Hooks that offer attention implementations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.attention import AttentionOffer


@hookspec
def kernelet_attention_backends() -> Sequence[AttentionOffer]:
    """Offers attention implementations and what they require.

    When: process start, while registries are filled.
    Process: engine, worker.
    Returns: offers; duplicates of a name are an error.
    Order: one a layer: named, else what fits, in the platform's order, then by priority.
    Since: attention 1.0.
    """
    raise NotImplementedError
