"""Offers GPTQ: reading, and writing."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.offer import Option
from kernelet.contracts.quant import QuantizerOffer, QuantOffer
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


@hookimpl
def kernelet_quantizers() -> Sequence[QuantizerOffer]:
    return (
        QuantizerOffer(
            name="gptq",
            target="kernelet_quant_gptq.writer:GptqQuantizer",
            calibrated=True,
            options={
                "bits": Option(type=int, default=4, help="bits of a weight: 2, 3, 4 or 8"),
                "group_size": Option(type=int, default=128, help="inputs that share a scale; -1: all"),
                "sym": Option(type=bool, default=True, help="zero points are the middle, and not one a group"),
                "desc_act": Option(type=bool, default=True, help="act-order: inputs that matter most come first"),
                "static_groups": Option(type=bool, default=True, help="with desc_act: groups stay those of neighbours"),
                "damp_percent": Option(
                    type=float, default=0.05, help="part of its mean added to the Hessian's diagonal"
                ),
            },
            summary="GPTQ: rounds column by column, and the columns that are left make up for each error",
        ),
    )
