"""Offers paged attention in kernels that compile for several vendors' devices."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.contracts.op import OpOffer
from kernelet.hookspecs import hookimpl

DTYPES = ("float32", "float16", "bfloat16")
TRITON = frozenset({"triton"})
"""What a platform says whose device the compiler knows."""


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
            api="1.4",
            kinds=frozenset({"full", "sliding", "mla", "tree"}),
            dtypes=DTYPES,
            soft_cap=True,
            sinks=True,
            cache_dtypes=("e4m3fn:tensor", "int8:token_head"),
            required_features=TRITON,
            summary="Paged attention in Triton: decode over split keys, prefill in chunks, latent layers, draft trees",
        ),
    )


@hookimpl
def kernelet_ops() -> Sequence[OpOffer]:
    return (
        OpOffer(
            name="triton-qkv-rope-write",
            target="kernelet_attention_triton.ops:qkv_rope_write",
            api="1.1",
            op="qkv_rope_write",
            dtypes=DTYPES,
            required_features=TRITON,
            summary="Rotation, and storing of keys and values, in one kernel of Triton",
        ),
    )
