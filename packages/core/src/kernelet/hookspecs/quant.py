"""Hook that offers quantization methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.quant import QuantOffer


@hookspec
def kernelet_quantization_methods() -> Sequence[QuantOffer]:
    """Offers ways to store weights, by the names that checkpoints have for them.

    When: process start, while registries are filled.
    Process: frontend, engine and worker.
    Returns: offers; duplicates of a name are an error.
    Order: the checkpoint's or the operator's name selects; a name has one owner. Without a name none is used.
    Since: quant 1.0.
    """
    raise NotImplementedError
