"""Offers GGUF files as models, and the way their weights are stored."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.model import ModelSourceOffer, WeightFormatOffer
from kernelet.contracts.offer import Option
from kernelet.contracts.quant import QuantOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "activations": Option(
                type=str,
                default="none",
                choices=("int8", "none"),
                help="int8: inputs are quantized too, each token by itself; none: only weights are",
            ),
        }
    )


@hookimpl
def kernelet_model_sources() -> Sequence[ModelSourceOffer]:
    return (
        ModelSourceOffer(
            name="gguf-file",
            target="kernelet_quant_gguf.source:GGUFSource",
            models={},
            patterns=("*.gguf",),
            summary="GGUF files, with the tokenizer and the chat template that they hold",
        ),
    )


@hookimpl
def kernelet_weight_formats() -> Sequence[WeightFormatOffer]:
    return (
        WeightFormatOffer(
            name="gguf",
            target="kernelet_quant_gguf.reader:GGUFReader",
            patterns=("*.gguf",),
            summary="GGUF, quantized weights as they are",
        ),
    )


@hookimpl
def kernelet_quantization_methods() -> Sequence[QuantOffer]:
    return (
        QuantOffer(
            name="gguf",
            target="kernelet_quant_gguf.method:GGUF",
            names=("gguf",),
            summary="The blocks of GGUF: Q4_0 to Q8_0, Q2_K to Q6_K",
        ),
    )
