"""Offers attention in AITER, where that is installed."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.attention import AttentionOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_attention_backends() -> Sequence[AttentionOffer]:
    return (
        AttentionOffer(
            name="aiter",
            target="kernelet_attention_aiter.attention:AiterAttention",
            api="1.4",
            kinds=frozenset({"full", "sliding"}),
            dtypes=("float16", "bfloat16"),
            head_sizes=(128, 256),
            block_size_multiple=16,
            soft_cap=True,
            required_features=frozenset({"rocm", "cdna3"}),
            requirements=("amd-aiter>=0.1.5",),
            self_check="kernelet_attention_aiter.library:check",
            summary="AITER's batched prefill over pages, for decode too",
        ),
    )
