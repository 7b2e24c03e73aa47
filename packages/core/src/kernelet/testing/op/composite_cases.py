"""How each composite op is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernelet.contracts.attention import Attention, AttentionBatch, AttentionSpec
from kernelet.layers.attention import QKVHeads
from kernelet.layers.context import ModelContext
from kernelet.layers.dtypes import dtype_name
from kernelet.layers.linear import ReplicatedLinear
from kernelet.layers.moe import ROUTERS, Experts, Routing
from kernelet.layers.norm import LayerNorm, Norm, RMSNorm
from kernelet.layers.step import Step
from kernelet.layers.weights import Shard
from kernelet.testing.attention.reference import SlowAttention
from kernelet.testing.attention.steps import cache_spec_of
from kernelet.testing.op.cases import Call, OpCase, rope_of
from kernelet.testing.op.draw import Draw

MakeAttention = Callable[[AttentionSpec], Attention]

HIDDEN = 32
"""Width of the residual stream, for overrides that hold something as wide."""
HEADS, KV_HEADS, SIZE, BLOCK = 4, 2, 16, 16
SEEN = 3
"""Tokens that each row of the op ``attention`` sees."""


def composite_cases(make_attention: MakeAttention) -> Iterator[OpCase]:
    """All of the composite ops.

    Args:
        make_attention: The attention that the op works with, in the dtype that is tried.
    """
    for kind in (RMSNorm, LayerNorm):
        for scale in (1.0, 0.5):
            yield OpCase(op="add_norm", words=f"{kind.kind} norm, scale {scale}", make=_add_norm(kind, scale))
    for name in ("silu", "gelu_tanh", "relu2"):
        yield OpCase(op="mlp", words=name, make=_mlp(name, gated=False))
        yield OpCase(op="gated_mlp", words=name, make=_mlp(name, gated=True))
    for words, options in _PROJECTED.items():
        yield OpCase(op="qkv_rope_write", words=words, make=_qkv_rope_write(make_attention, **options))
    for sinks in (False, True):
        words = "with sinks" if sinks else "without sinks"
        yield OpCase(op="attention", words=words, make=_attention(make_attention, sinks=sinks))
    for router in ROUTERS:
        for scale in (1.0, 1.5):
            yield OpCase(op="moe", words=f"{router}, scale {scale}", make=_moe(router, scale), grouped=True)
    yield OpCase(op="decoder_layer", words="a layer that nobody knows", make=_decoder_layer)


_PROJECTED: Mapping[str, dict[str, Any]] = {
    "plain": {},
    "rotated": {"rotated": True},
    "rotated in part": {"rotated": True, "rotary_size": 8},
    "clipped": {"clip": 0.5},
    "norm of each head": {"norm": "head", "rotated": True},
    "norm of all heads": {"norm": "whole", "rotated": True},
}


def _add_norm(kind: type[RMSNorm | LayerNorm], scale: float) -> Callable[[Draw], Call]:
    def make(draw: Draw) -> Call:
        norm: Norm = kind(draw.context(), "norm", Shard.whole(HIDDEN), 1e-5, bias=kind is LayerNorm)
        draw.fill(norm)
        residual, x = draw.row("residual", HIDDEN, is_wide=True), draw.row("x", HIDDEN)
        return Call(
            arguments=(residual, x, scale, norm),
            fixed=(residual, x, norm.weight, norm.bias),
            outputs=lambda result: {"norm": result[0], "sum": result[1]},
        )

    return make


def _mlp(name: str, *, gated: bool) -> Callable[[Draw], Call]:
    def make(draw: Draw) -> Call:
        context, middle = draw.context(), 48
        up = ReplicatedLinear(context, "up", HIDDEN, 2 * middle if gated else middle, bias=True)
        down = ReplicatedLinear(context, "down", middle, HIDDEN)
        draw.fill(up, down)
        x = draw.row("x", HIDDEN)
        return Call(arguments=(x, up, down, name), fixed=(x, up.bias))

    return make


def _heads(draw: Draw, context: ModelContext, norm: str | None, clip: float | None) -> QKVHeads:
    norms: list[Norm | None] = [None, None]
    if norm is not None:
        sizes = (HEADS * SIZE, KV_HEADS * SIZE) if norm == "whole" else (SIZE, SIZE)
        made = [RMSNorm(context, f"norm{index}", Shard.whole(size), 1e-5) for index, size in enumerate(sizes)]
        draw.fill(*made)
        norms = [*made]
    return QKVHeads(
        num_heads=HEADS,
        num_kv_heads=KV_HEADS,
        head_size=SIZE,
        q_norm=norms[0],
        k_norm=norms[1],
        clip=clip,
        whole=norm == "whole",
    )


@dataclass(frozen=True)
class Paged:
    """The cache of one layer in which each row is a request of its own, in a block of its own."""

    attention: Attention
    cache: Any
    metadata: Any
    device: Any

    @classmethod
    def of(cls, draw: Draw, make_attention: MakeAttention, seen: int, *, sinks: bool = False) -> Paged:
        """A cache in which the last of ``seen`` tokens is computed next."""
        spec = AttentionSpec(
            kind="full",
            num_heads=HEADS,
            num_kv_heads=KV_HEADS,
            head_size=SIZE,
            dtype=dtype_name(draw.dtype),
            block_size=BLOCK,
            scale=SIZE**-0.5,
            sinks=sinks,
        )
        reference = draw.dtype is torch.float64 and draw.plugins is None
        attention = SlowAttention(spec) if reference else make_attention(spec)
        rows, device = len(draw.rows), torch.device(draw.device)
        cache = attention.allocate_cache(cache_spec_of(spec), rows + 1, device)
        for token in range(seen - 1):
            key, value = (draw.row(f"{part}{token}", KV_HEADS, SIZE) for part in ("key", "value"))
            attention.write_kv(key, value, cache, attention.build_metadata(_batch(rows, token), device))
        return cls(attention, cache, attention.build_metadata(_batch(rows, seen - 1), device), device)


def _batch(rows: int, position: int) -> AttentionBatch:
    """Each of some requests computes the token at a position."""
    blocks = np.arange(1, rows + 1)
    return AttentionBatch(
        query_start_loc=np.arange(rows + 1, dtype=np.int32),
        seq_lens=np.full(rows, position + 1, dtype=np.int32),
        block_table=blocks.astype(np.int32)[:, None],
        slot_mapping=blocks.astype(np.int64) * BLOCK + position,
    )


def _qkv_rope_write(
    make_attention: MakeAttention,
    *,
    rotated: bool = False,
    rotary_size: int = SIZE,
    norm: str | None = None,
    clip: float | None = None,
) -> Callable[[Draw], Call]:
    def make(draw: Draw) -> Call:
        heads = _heads(draw, draw.context(), norm, clip)
        rope = rope_of(draw, rotary_size) if rotated else None
        paged = Paged.of(draw, make_attention, SEEN)
        qkv = draw.row("qkv", (HEADS + 2 * KV_HEADS) * SIZE)  # may be overwritten
        probe = draw.row("probe", HEADS, SIZE)

        def outputs(query: Tensor) -> Mapping[str, Tensor]:
            """The query, and what the cache holds, as attention sees it."""
            return {"query": query, "cache": paged.attention.forward(probe, paged.cache, paged.metadata)}

        return Call(
            arguments=(qkv, heads, rope, paged.attention, paged.cache, paged.metadata),
            fixed=() if rope is None else (rope.cos, rope.sin),
            outputs=outputs,
        )

    return make


def _attention(make_attention: MakeAttention, *, sinks: bool) -> Callable[[Draw], Call]:
    def make(draw: Draw) -> Call:
        paged = Paged.of(draw, make_attention, SEEN, sinks=sinks)
        key, value = draw.row("last key", KV_HEADS, SIZE), draw.row("last value", KV_HEADS, SIZE)
        paged.attention.write_kv(key, value, paged.cache, paged.metadata)
        query, logits = draw.row("query", HEADS, SIZE), draw.weight("sinks", HEADS) if sinks else None
        arguments = (query, paged.attention, paged.cache, paged.metadata, logits)
        return Call(arguments=arguments, fixed=(query, logits))

    return make


def _moe(router: str, scale: float) -> Callable[[Draw], Call]:
    def make(draw: Draw) -> Call:
        experts = Experts(draw.context(), "experts", num_experts=5, hidden=HIDDEN, middle=24, activation="silu")
        draw.fill(experts)
        x, logits = draw.row("x", HIDDEN), draw.row("logits", 5)
        routing = Routing(router=router, top_k=2, scale=scale)
        return Call(arguments=(x, logits, experts, routing), fixed=(x, logits))

    return make


@dataclass
class UnknownLayer:
    """A decoder layer of no known kind; an override can only ask it to compose itself."""

    index: int = 3

    def compose(self, residual: Tensor, step: Step) -> Tensor:
        return residual * 0.75 + residual.roll(1, -1)


def _decoder_layer(draw: Draw) -> Call:
    residual = draw.row("residual", HIDDEN, is_wide=True)
    return Call(arguments=(UnknownLayer(), residual, Step({}, {})), fixed=(residual,))
