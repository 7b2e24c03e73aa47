"""Composite ops, decomposed into the ops below them; signatures in ``kernelet.layers.ops``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from kernelet.contracts.attention import Attention
    from kernelet.layers.attention import QKVHeads
    from kernelet.layers.linear import Linear
    from kernelet.layers.moe import Experts, Routing
    from kernelet.layers.norm import Norm
    from kernelet.layers.ops import OpTable
    from kernelet.layers.rotary import RopeRows
    from kernelet.layers.step import ComposedLayer, Step


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
    num_heads, num_kv_heads, size = heads.num_heads, heads.num_kv_heads, heads.head_size
    both = num_heads + num_kv_heads
    split = qkv.view(-1, both + num_kv_heads, size)
    if heads.q_norm is None or heads.k_norm is None:
        rotated = split[:, :both] if rope is None else ops.rotary(split[:, :both], rope)
        query, key = rotated[:, :num_heads], rotated[:, num_heads:]
    else:
        query, key = split[:, :num_heads], split[:, num_heads:both]
        if heads.whole:
            query, key = query.flatten(1), key.flatten(1)
        query = heads.q_norm.forward(query).view(-1, num_heads, size)
        key = heads.k_norm.forward(key).view(-1, num_kv_heads, size)
        if rope is not None:
            query, key = ops.rotary(query, rope), ops.rotary(key, rope)
    value = split[:, both:]
    attention.write_kv(key, value, cache, metadata)
    return query


def attention(
    _ops: OpTable, query: Tensor, attention: Attention, cache: Any, metadata: Any, sinks: Tensor | None
) -> Tensor:
    """Attention over the cache."""
    return attention.forward(query, cache, metadata, sinks)


def moe(_ops: OpTable, x: Tensor, logits: Tensor, experts: Experts, routing: Routing) -> Tensor:
    """Sum of each row's experts, in the order of its own choices."""
    if not len(x):
        return torch.empty_like(x)
    weights, ids = routing.choose(logits)
    rows, top_k = ids.shape
    flat = ids.flatten()
    order = flat.argsort(stable=True)
    source = x[order // top_k]
    parts = []
    counts = flat.bincount(minlength=experts.num_experts).tolist()
    for expert, chunk in enumerate(torch.split(source, counts)):
        if len(chunk):
            parts.append(experts.forward(chunk, expert))
    outputs = torch.empty_like(source).index_copy_(0, order, torch.cat(parts))
    chosen = outputs.view(rows, top_k, -1) * weights.unsqueeze(-1)
    return chosen.sum(1).to(x.dtype)


def decoder_layer(_ops: OpTable, layer: ComposedLayer, residual: Tensor, step: Step) -> Tensor:
    """One layer, by its own composition."""
    return layer.compose(residual, step)
