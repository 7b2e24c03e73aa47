"""Offers AWQ."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.quant import QuantOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_quantization_methods() -> Sequence[QuantOffer]:
    return (
        QuantOffer(
            name="awq",
            target="kernelet_quant_awq.method:Awq",
            names=("awq", "awq_marlin"),
            config_files=("quant_config.json",),
            summary="AWQ checkpoints: 4-bit weights in groups with a scale and a zero point",
        ),
    )
