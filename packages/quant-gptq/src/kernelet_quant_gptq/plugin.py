"""Offers GPTQ."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.quant import QuantOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_quantization_methods() -> Sequence[QuantOffer]:
    return (
        QuantOffer(
            name="gptq",
            target="kernelet_quant_gptq.method:Gptq",
            names=("gptq", "gptq_marlin"),
            config_files=("quantize_config.json",),
            summary="GPTQ checkpoints: weights of 2, 3, 4 or 8 bits in groups, with or without act-order",
        ),
    )
