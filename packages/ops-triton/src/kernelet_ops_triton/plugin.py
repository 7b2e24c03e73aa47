"""Offers ops and weight kernels that compile for several vendors' devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.contracts.op import OpOffer, WeightKernelOffer
from kernelet.hookspecs import hookimpl

TRITON = frozenset({"triton"})
"""What a platform says whose device the compiler knows."""

DTYPES = ("float32", "float16", "bfloat16")

OPS: Mapping[str, str] = MappingProxyType(
    {
        "rms_norm": "elementary:rms_norm",
        "layer_norm": "elementary:layer_norm",
        "rotary": "elementary:rotary",
        "activation": "elementary:activation",
        "act_and_mul": "elementary:act_and_mul",
        "add_norm": "composite:add_norm",
        "moe": "moe:TritonMoE",
        "sample": "sampling:sample",
        "apply_token_mask": "sampling:apply_token_mask",
    }
)
"""Ops of the ladder and where they are in kernelet_ops_triton.ops."""


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "batch_invariant": Option(
                type=bool,
                default=False,
                help="Cut products alike for every number of rows: a row has the same bits whatever runs beside it",
            )
        }
    )


@hookimpl
def kernelet_ops() -> Sequence[OpOffer]:
    return tuple(
        OpOffer(
            name=f"triton-{op.replace('_', '-')}",
            target=f"kernelet_ops_triton.ops.{target}",
            api="1.3",
            op=op,
            dtypes=DTYPES,
            required_features=TRITON,
            summary="In Triton: a row has the same bits in every batch",
        )
        for op, target in OPS.items()
    )


@hookimpl
def kernelet_weight_kernels() -> Sequence[WeightKernelOffer]:
    return (
        WeightKernelOffer(
            name="triton-dense",
            target="kernelet_ops_triton.linear.dense:TritonDense",
            api="1.2",
            roles=("linear", "grouped_linear", "embedding"),
            required_features=TRITON,
            summary="Unquantized weights in Triton",
        ),
        WeightKernelOffer(
            name="triton-quantized",
            target="kernelet_ops_triton.linear.quantized:TritonQuantized",
            api="1.4",
            roles=("linear", "grouped_linear"),
            required_features=TRITON,
            summary="Weights of 2 to 8 bits in Triton, with inputs as they are or rounded to int8 or e4m3fn",
        ),
    )
