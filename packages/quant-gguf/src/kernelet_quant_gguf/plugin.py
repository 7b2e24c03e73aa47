"""Offers GGUF files as models, and the way their weights are stored."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.model import ModelSourceOffer, WeightFormatOffer
from kernelet.contracts.offer import Option
from kernelet.contracts.quant import QuantizerOffer, QuantOffer
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


@hookimpl
def kernelet_quantizers() -> Sequence[QuantizerOffer]:
    types = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")
    return (
        QuantizerOffer(
            name="gguf",
            target="kernelet_quant_gguf.quantizer:GGUFQuantizer",
            summary="One GGUF file, in blocks of 32 weights with a scale each",
            options={
                "type": Option(type=str, default="Q4_1", choices=types, help="how linear weights are stored"),
                "head": Option(
                    type=str,
                    default="Q8_0",
                    choices=(*types, "none"),
                    help="how the embedding and the output head are stored; none: as they are",
                ),
            },
        ),
    )
