"""Builds layers from a spec: each column's name picks a component."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from kernelet.errors import UnsupportedModelError
from kernelet.layers.attention import AttentionLayer, QKVHeads
from kernelet.layers.context import ModelContext
from kernelet.layers.linear import ColumnParallelLinear, MergedLinear, QKVLinear, ReplicatedLinear, RowParallelLinear
from kernelet.layers.mlp import GatedMLP, PlainMLP
from kernelet.layers.moe import Experts, MixtureOfExperts, Routing
from kernelet.layers.norm import LayerNorm, Norm, RMSNorm
from kernelet.layers.weights import Shard
from kernelet_models_decoder.placement import PLACEMENTS, DecoderLayer, FeedForward
from kernelet_models_decoder.spec import DecoderSpec, LayerSpec

T = TypeVar("T")


def component(column: str, name: str, choices: Mapping[str, T]) -> T:
    """The component that a column names.

    Raises:
        UnsupportedModelError: if there is none of that name.
    """
    if name not in choices:
        raise UnsupportedModelError(f"column {column!r} has no component {name!r}; there are {', '.join(choices)}")
    return choices[name]


def _rms(context: ModelContext, spec: DecoderSpec, name: str, shard: Shard) -> Norm:
    return RMSNorm(context, name, shard, spec.norm_eps, offset=spec.norm_offset)


def _layer(context: ModelContext, spec: DecoderSpec, name: str, shard: Shard) -> Norm:
    return LayerNorm(context, name, shard, spec.norm_eps, offset=spec.norm_offset, bias=True)


def _layer_no_bias(context: ModelContext, spec: DecoderSpec, name: str, shard: Shard) -> Norm:
    return LayerNorm(context, name, shard, spec.norm_eps, offset=spec.norm_offset)


NormMaker = Callable[[ModelContext, DecoderSpec, str, Shard], Norm]
NORMS: Mapping[str, NormMaker] = MappingProxyType({"rms": _rms, "layer": _layer, "layer_no_bias": _layer_no_bias})


def make_norm(context: ModelContext, spec: DecoderSpec, name: str, size: int) -> Norm:
    """A norm of the kind that all of the model's are."""
    return component("norm", spec.norm, NORMS)(context, spec, name, Shard.whole(size))


def make_layer(context: ModelContext, spec: DecoderSpec, index: int) -> DecoderLayer:
    """One decoder layer under its global name."""
    names = spec.names
    prefix = names.layer.format(layer=index)
    kind = component("placement", spec.placement, PLACEMENTS)
    norms = {
        norm: make_norm(context, spec, f"{prefix}.{getattr(names, norm)}", spec.hidden_size) for norm in kind.norm_names
    }
    layer = spec.layers[index]
    attention = make_attention(context, spec, layer, prefix)
    make = make_experts if layer.experts else make_mlp
    mlp = make(context, spec, prefix)
    return kind(context.ops, index, attention, mlp, norms, spec.residual_scale)


def make_attention(context: ModelContext, spec: DecoderSpec, layer: LayerSpec, prefix: str) -> AttentionLayer:
    """Attention with its projections."""
    names = spec.names
    name = f"{prefix}.{names.attention}"
    qkv = QKVLinear(
        context,
        f"{name}.qkv_proj",
        spec.hidden_size,
        num_heads=spec.num_heads,
        num_kv_heads=spec.num_kv_heads,
        head_size=spec.head_size,
        bias=spec.qkv_bias,
        sources=[f"{prefix}.{source}" for source in names.qkv],
    )
    output = RowParallelLinear(
        context,
        f"{prefix}.{names.output}",
        spec.num_heads * spec.head_size,
        spec.hidden_size,
        bias=spec.output_bias,
    )
    q_norm, k_norm = component("qk_norm", spec.qk_norm, QK_NORMS)(context, spec, prefix)
    heads = QKVHeads(
        num_heads=qkv.num_heads,
        num_kv_heads=qkv.num_kv_heads,
        head_size=spec.head_size,
        q_norm=q_norm,
        k_norm=k_norm,
        clip=spec.clip_qkv,
        whole=spec.qk_norm == "whole",
    )
    return AttentionLayer(
        context,
        name,
        qkv=qkv,
        output=output,
        heads=heads,
        scale=spec.attention_scale,
        rope=layer.rope,
        window=layer.window,
        soft_cap=spec.attention_soft_cap,
        sinks=f"{prefix}.{names.sinks}" if spec.sinks else None,
    )


Norms = tuple[Norm | None, Norm | None]


def _no_norms(_context: ModelContext, _spec: DecoderSpec, _prefix: str) -> Norms:
    return None, None


def _norm_each_head(context: ModelContext, spec: DecoderSpec, prefix: str) -> Norms:
    return (
        make_norm(context, spec, f"{prefix}.{spec.names.q_norm}", spec.head_size),
        make_norm(context, spec, f"{prefix}.{spec.names.k_norm}", spec.head_size),
    )


def _norm_all_heads(context: ModelContext, spec: DecoderSpec, prefix: str) -> Norms:
    if context.parallel.size > 1:
        raise UnsupportedModelError("a norm over all heads together is not served with tensor parallelism")
    return (
        make_norm(context, spec, f"{prefix}.{spec.names.q_norm}", spec.num_heads * spec.head_size),
        make_norm(context, spec, f"{prefix}.{spec.names.k_norm}", spec.num_kv_heads * spec.head_size),
    )


QK_NORMS: Mapping[str, Callable[[ModelContext, DecoderSpec, str], Norms]] = MappingProxyType(
    {"none": _no_norms, "head": _norm_each_head, "whole": _norm_all_heads}
)


def make_mlp(context: ModelContext, spec: DecoderSpec, prefix: str) -> FeedForward:
    """A feed-forward network."""
    if spec.mlp is None:
        raise UnsupportedModelError(f"{prefix} has no experts, and the row has no column for another network")
    return component("mlp.kind", spec.mlp.kind, MLPS)(context, spec, prefix, spec.mlp.bias)


def _gated(context: ModelContext, spec: DecoderSpec, prefix: str, bias: bool) -> FeedForward:
    name, hidden, size = f"{prefix}.mlp", spec.hidden_size, spec.intermediate_size
    gate_up = MergedLinear(
        context,
        f"{name}.gate_up_proj",
        hidden,
        {"gate": size, "up": size},
        bias=bias,
        sources=[f"{prefix}.{source}" for source in spec.names.gate_up],
    )
    down = RowParallelLinear(context, f"{prefix}.{spec.names.down}", size, hidden, bias=bias)
    return GatedMLP(context, name, gate_up=gate_up, down=down, activation=spec.activation)


def _plain(context: ModelContext, spec: DecoderSpec, prefix: str, bias: bool) -> FeedForward:
    hidden, size = spec.hidden_size, spec.intermediate_size
    up = ColumnParallelLinear(context, f"{prefix}.{spec.names.up}", hidden, size, bias=bias)
    down = RowParallelLinear(context, f"{prefix}.{spec.names.down}", size, hidden, bias=bias)
    return PlainMLP(context, f"{prefix}.mlp", up=up, down=down, activation=spec.activation)


MLPS: Mapping[str, Callable[[ModelContext, DecoderSpec, str, bool], FeedForward]] = MappingProxyType(
    {"gated": _gated, "plain": _plain}
)


def make_experts(context: ModelContext, spec: DecoderSpec, prefix: str) -> FeedForward:
    """A router and its experts."""
    if spec.experts is None:
        raise UnsupportedModelError(f"{prefix} has experts, but the row has no column for them")
    name = f"{prefix}.mlp"
    experts = Experts(
        context,
        f"{name}.experts",
        num_experts=spec.experts.count,
        hidden=spec.hidden_size,
        middle=spec.experts.size,
        activation=spec.activation,
        sources=[f"{prefix}.{source}" for source in spec.names.experts],
    )
    router_name = f"{prefix}.{spec.names.router}"
    router = ReplicatedLinear(context, router_name, spec.hidden_size, spec.experts.count, router=True)
    routing = Routing(router=spec.experts.router, top_k=spec.experts.top_k)
    return MixtureOfExperts(context, name, router=router, experts=experts, routing=routing)
