"""Hooks that offer logits processors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.sampling import LogitsProcessorOffer


@hookspec
def kernelet_logits_processors() -> Sequence[LogitsProcessorOffer]:
    """Offers custom logits processors; opt-in: only named ones run.

    When: process start, while registries are filled.
    Process: frontend, worker.
    Returns: offers; duplicates of a name are an error.
    Order: every one named, in the order in which they were named.
    Since: sampling 1.0.
    """
    raise NotImplementedError
