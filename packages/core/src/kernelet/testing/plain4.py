"""The plain format of ``kernelet.testing.quantization``, for engines."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.quant import QuantOffer
from kernelet.hookspecs import hookimpl


class Plain4Plugin:
    """Reads checkpoints whose ``quant_method`` is ``plain4``."""

    name = "quant-plain4"

    @hookimpl
    def kernelet_quantization_methods(self) -> Sequence[QuantOffer]:
        return (
            QuantOffer(
                name="plain4",
                target="kernelet.testing.quantization.reference:Plain4",
                names=("plain4",),
                summary="4 bits in groups of 32, for tests",
            ),
        )


plugin = Plain4Plugin()
"""For ``plugins=["kernelet.testing.plain4:plugin"]``."""
