"""Composite ops, decomposed into the ops below them; signatures in ``kernelet.layers.ops``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from kernelet.contracts.attention import Attention
    from kernelet.layers.attention import QKVHeads
    from kernelet.layers.decoder import DecoderLayer, Step
    from kernelet.layers.linear import Linear
    from kernelet.layers.moe import Experts, Routing
    from kernelet.layers.norm import Norm
    from kernelet.layers.ops import OpTable
    from kernelet.layers.rotary import RopeRows


def add_norm(ops: OpTable, residual: Tensor, x: Tensor, scale: float, norm: Norm) -> tuple[Tensor, Tensor]:
    """Adds to the residual stream; returns the norm of the sum, and the sum."""
    total = ops.add(residual, x, scale)
    return norm.forward(total), total


def mlp(ops: OpTable, x: Tensor, up: Linear, down: Linear, name: str) -> Tensor:
    """Plain feed-forward network."""
    return down.forward(ops.activation(up.forward(x), name))


def gated_mlp(ops: OpTable, x: Tensor, gate_up: Linear, down: Linear, name: str) -> Tensor:
    """Gated feed-forward network (Shazeer 2020)."""
    return down.forward(ops.act_and_mul(gate_up.forward(x), name))


def qkv_rope_write(
    ops: OpTable, qkv: Tensor, heads: QKVHeads, rope: RopeRows | None, attention: Attention, cache: Any, metadata: Any
) -> Tensor:
    """Makes query and key of a step, and writes key and value to the cache. May overwrite ``qkv``."""
    if heads.clip is not None:
        qkv = qkv.clamp(-heads.clip, heads.clip)
    query_size = heads.num_heads * heads.head_size
    key_size = heads.num_kv_heads * heads.head_size
    if heads.q_norm is not None and heads.k_norm is not None:
        query, key, value = qkv.split((query_size, key_size, key_size), -1)
        query = heads.q_norm.forward(query.unflatten(-1, heads.q_norm_shape)).view(-1, heads.num_heads, heads.head_size)
        key = heads.k_norm.forward(key.unflatten(-1, heads.k_norm_shape)).view(-1, heads.num_kv_heads, heads.head_size)
        if rope is not None:
            query, key = ops.rotary(query, rope), ops.rotary(key, rope)
        value = value.unflatten(-1, (heads.num_kv_heads, heads.head_size))
    else:
        both = heads.num_heads + heads.num_kv_heads
        split = qkv.unflatten(-1, (both + heads.num_kv_heads, heads.head_size))
        rotated = split[:, :both] if rope is None else ops.rotary(split[:, :both], rope)
        query, key = rotated[:, : heads.num_heads], rotated[:, heads.num_heads :]
        value = split[:, both:]
    attention.write_kv(key, value, cache, metadata)
    return query


def attention(  # noqa: D417
    ops: OpTable, query: Tensor, attention: Attention, cache: Any, metadata: Any, sinks: Tensor | None
) -> Tensor:
    """Attention over the cache."""
    return attention.forward(query, cache, metadata, sinks)


def moe(ops: OpTable, x: Tensor, logits: Tensor, experts: Experts, routing: Routing) -> Tensor:
    """Sum of each row's experts, in the order of its own choices."""
    weights, ids = routing.choose(logits)
    rows, top_k = ids.shape
    flat = ids.flatten()
    order = flat.argsort(stable=True)
    source = x[order // top_k]
    parts = []
    counts = flat.bincount(minlength=experts.num_experts).tolist()
    for expert, chunk in enumerate(source.split(counts)):
        if len(chunk):
            parts.append(experts.forward(chunk, expert))
    outputs = torch.empty_like(source).index_copy_(0, order, torch.cat(parts))
    chosen = outputs.view(rows, top_k, -1) * weights.unsqueeze(-1)
    return chosen.sum(1).to(x.dtype)


def decoder_layer(ops: OpTable, layer: DecoderLayer, residual: Tensor, step: Step) -> Tensor:
    """One layer, by its own composition."""
    return layer.compose(residual, step)
