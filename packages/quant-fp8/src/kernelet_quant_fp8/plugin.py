"""Offers the format ``fp8``, and ``kernelet quantize --format fp8``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.contracts.quant import QuantizerOffer, QuantOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "activations": Option(
                type=str,
                default="checkpoint",
                choices=("checkpoint", "none"),
                help="checkpoint: inputs are rounded as the checkpoint says; none: only weights are quantized",
            ),
        }
    )


@hookimpl
def kernelet_quantization_methods() -> Sequence[QuantOffer]:
    return (
        QuantOffer(
            name="fp8",
            target="kernelet_quant_fp8.method:Fp8",
            names=("fp8",),
            summary="8-bit floats (e4m3) with a scale a tensor, an output or a block; inputs as they are, or fp8 too",
        ),
    )


@hookimpl
def kernelet_quantizers() -> Sequence[QuantizerOffer]:
    return (
        QuantizerOffer(
            name="fp8",
            target="kernelet_quant_fp8.quantizer:Fp8Quantizer",
            summary="8-bit floats (e4m3) with a scale a block of 128 x 128 or a tensor; inputs in fp8 when it runs",
            options={
                "scales": Option(
                    type=str,
                    default="block",
                    choices=("block", "tensor"),
                    help="block: of 128 x 128 weights; tensor: one",
                ),
            },
        ),
    )
