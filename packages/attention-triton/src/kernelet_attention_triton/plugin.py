"""Offers paged attention in kernels that compile for several vendors' devices."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "batch_invariant": Option(
                type=bool,
                default=False,
                help="Cut keys and queries alike in every batch: a token has the same bits whatever runs beside it",
            )
        }
    )


@hookimpl
def kernelet_attention_backends() -> Sequence[AttentionOffer]:
    return (
        AttentionOffer(
            name="triton",
            target="kernelet_attention_triton.attention:TritonAttention",
            api="1.3",
            kinds=frozenset({"full", "sliding"}),
            dtypes=("float32", "float16", "bfloat16"),
            soft_cap=True,
            sinks=True,
            cache_dtypes=("e4m3fn:tensor", "int8:token_head"),
            required_features=frozenset({"triton"}),
            summary="Paged attention in Triton: decode over split keys, prefill in chunks",
        ),
    )
