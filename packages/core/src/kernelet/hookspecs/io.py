"""Hook that offers IO processors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.io import IOProcessorOffer


@hookspec
def kernelet_io_processors() -> Sequence[IOProcessorOffer]:
    """Offers ways to turn data into prompts that are pooled, and their vectors into an answer.

    When: process start, while registries are filled.
    Process: frontend.
    Returns: offers; duplicates of a name are an error.
    Order: the checkpoint's or the operator's name selects; a name has one owner. Without a name none is used.
    Since: io 1.0.
    """
    raise NotImplementedError
