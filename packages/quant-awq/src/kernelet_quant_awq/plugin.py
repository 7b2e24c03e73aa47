"""Offers AWQ: reading, and writing."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.offer import Option
from kernelet.contracts.quant import QuantizerOffer, QuantOffer
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


@hookimpl
def kernelet_quantizers() -> Sequence[QuantizerOffer]:
    return (
        QuantizerOffer(
            name="awq",
            target="kernelet_quant_awq.writer:AwqQuantizer",
            calibrated=True,
            options={
                "group_size": Option(type=int, default=128, help="inputs that share a scale; -1: all"),
                "clip": Option(type=bool, default=True, help="search how far the weights of each group are clipped"),
            },
            summary="AWQ: input channels that matter are scaled up before weights are rounded to 4 bits",
        ),
    )
