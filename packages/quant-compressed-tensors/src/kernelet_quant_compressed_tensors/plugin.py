"""Offers the format ``compressed-tensors``, and ``kernelet quantize --format int8``, which writes it."""

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
            name="compressed-tensors",
            target="kernelet_quant_compressed_tensors.method:CompressedTensors",
            names=("compressed-tensors",),
            summary="packed weights of 2 to 8 bits, int8 and fp8 weights and inputs, as llm-compressor writes them",
        ),
    )


@hookimpl
def kernelet_quantizers() -> Sequence[QuantizerOffer]:
    return (
        QuantizerOffer(
            name="int8",
            target="kernelet_quant_compressed_tensors.quantizer:Int8",
            summary="8-bit weights, and inputs when it runs; a checkpoint of compressed-tensors",
            options={
                "activations": Option(
                    type=str,
                    default="int8",
                    choices=("int8", "none"),
                    help="int8: inputs are quantized when it runs, each token by itself; none: only weights are",
                ),
                "group_size": Option(
                    type=int, default=0, help="inputs of an output that share a scale; 0: all. Needs activations=none"
                ),
            },
        ),
    )
