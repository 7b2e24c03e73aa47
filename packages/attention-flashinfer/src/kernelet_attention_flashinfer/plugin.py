"""Offers attention in FlashInfer, where that is installed."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.attention import AttentionOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_attention_backends() -> Sequence[AttentionOffer]:
    return (
        AttentionOffer(
            name="flashinfer",
            target="kernelet_attention_flashinfer.attention:FlashInferAttention",
            api="1.4",
            kinds=frozenset({"full", "sliding"}),
            dtypes=("float16", "bfloat16"),
            head_sizes=(64, 128, 256),
            soft_cap=True,
            cache_dtypes=("e4m3fn:tensor",),
            required_features=frozenset({"cuda"}),
            min_compute_capability=(8, 0),
            requirements=("flashinfer-python>=0.2.3",),
            self_check="kernelet_attention_flashinfer.library:check",
            summary="FlashInfer's wrappers of decode and prefill over pages",
        ),
    )
