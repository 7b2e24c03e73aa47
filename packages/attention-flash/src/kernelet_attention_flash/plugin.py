"""Offers attention in the three generations of FlashAttention, where they are installed."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.attention import AttentionOffer
from kernelet.hookspecs import hookimpl

HALVES = ("float16", "bfloat16")
LAYERS = frozenset({"full", "sliding"})
FEATURES = frozenset({"cuda"})


@hookimpl
def kernelet_attention_backends() -> Sequence[AttentionOffer]:
    return (
        AttentionOffer(
            name="flash",
            target="kernelet_attention_flash.attention:FlashAttention2",
            api="1.4",
            kinds=LAYERS,
            dtypes=HALVES,
            head_sizes=(32, 64, 80, 96, 112, 128, 160, 192, 224, 256),
            block_size_multiple=256,
            soft_cap=True,
            required_features=FEATURES,
            min_compute_capability=(8, 0),
            requirements=("flash-attn>=2.6",),
            self_check="kernelet_attention_flash.library:check_2",
            summary="FlashAttention 2 over pages",
        ),
        AttentionOffer(
            name="flash-3",
            target="kernelet_attention_flash.attention:FlashAttention3",
            api="1.4",
            kinds=LAYERS,
            dtypes=HALVES,
            head_sizes=(64, 96, 128, 192, 256),
            soft_cap=True,
            required_features=FEATURES,
            min_compute_capability=(9, 0),
            max_compute_capability=(9, 0),
            requirements=("flash-attn-3>=3.0.0b1",),
            self_check="kernelet_attention_flash.library:check_3",
            summary="FlashAttention 3 over pages",
        ),
        AttentionOffer(
            name="flash-4",
            target="kernelet_attention_flash.attention:FlashAttention4",
            api="1.4",
            kinds=LAYERS,
            dtypes=HALVES,
            head_sizes=(64, 128),
            block_size_multiple=128,
            soft_cap=True,
            required_features=FEATURES,
            min_compute_capability=(10, 0),
            max_compute_capability=(11, 0),
            requirements=("flash-attn-4>=4.0.0b1",),
            self_check="kernelet_attention_flash.library:check_4",
            summary="FlashAttention 4 over pages",
        ),
    )
