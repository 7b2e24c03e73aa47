"""Offers ``--quantization int8`` and ``--quantization int4``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.contracts.quant import QuantOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "group_size": Option(type=int, default=32, help="int4: weights that share a scale: 32, 64 or 128"),
            "zero_points": Option(type=bool, default=True, help="int4: each group has a zero point beside its scale"),
            "activations": Option(
                type=str,
                default="int8",
                choices=("int8", "none"),
                help="int8: inputs are quantized too, each token by itself; none: only weights are",
            ),
            "exclude": Option(
                type=str,
                default="",
                help="modules to leave as they are, separated by commas: mlp.down_proj, layers.0, lm_*, re:.*k_proj",
            ),
            "head": Option(
                type=str, default="int8", choices=("int8", "int4", "none"), help="how the output head is stored"
            ),
            "embedding": Option(
                type=str,
                default="none",
                choices=("int8", "int4", "none"),
                help="how an embedding is stored that is not the head's weight too",
            ),
        }
    )


@hookimpl
def kernelet_quantization_methods() -> Sequence[QuantOffer]:
    return (
        QuantOffer(
            name="int8",
            target="kernelet_quant_online.methods:Int8",
            online=True,
            summary="8-bit weights with a scale an output, 8-bit inputs with a scale a token",
        ),
        QuantOffer(
            name="int4",
            target="kernelet_quant_online.methods:Int4",
            online=True,
            summary="4-bit weights in groups with a scale and a zero point, 8-bit inputs with a scale a token",
        ),
    )
