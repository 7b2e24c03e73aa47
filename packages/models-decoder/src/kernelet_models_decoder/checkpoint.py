"""Which checkpoint tensor fills which weight of a decoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kernelet.layers.linear import Linear
from kernelet.layers.mlp import GatedMLP
from kernelet.layers.moe import MixtureOfExperts
from kernelet.layers.weights import Layer, Weight, layers_of, weights_of
from kernelet.loading.mapping import Target, WeightMap, interleaved, plain, split
from kernelet_models_decoder.build import component
from kernelet_models_decoder.placement import DecoderLayer
from kernelet_models_decoder.spec import DecoderSpec

Targets = dict[str, Target]


def weight_map(spec: DecoderSpec, outer: Sequence[Layer], layers: Sequence[DecoderLayer]) -> WeightMap:
    """All targets of a decoder.

    Args:
        spec: The decoder.
        outer: Layers outside the stack (embedding, final norm, head), which keep their names.
        layers: The stack.
    """
    targets: Targets = {}
    for weight in weights_of(outer).values():
        targets |= plain(weight, weight.name)
    for index, layer in enumerate(layers):
        targets |= _layer(spec, layer, spec.names.layer.format(layer=index))
    ignored = dict(spec.names.ignored)
    if spec.tied:
        ignored[rf"{spec.names.head}\.weight"] = "tied to the embedding"
    return WeightMap(targets=targets, ignored=ignored)


def _layer(spec: DecoderSpec, layer: DecoderLayer, prefix: str) -> Targets:
    names = spec.names
    special: dict[Linear, Targets] = {}
    qkv = layer.attention.qkv
    special[qkv] = _merged(qkv, [f"{prefix}.{name}" for name in names.qkv], _order(spec))
    mlp = layer.mlp
    if isinstance(mlp, GatedMLP):
        special[mlp.gate_up] = _merged(mlp.gate_up, [f"{prefix}.{name}" for name in names.gate_up], plain)
    targets: Targets = {}
    for found in layers_of(layer):
        if isinstance(found, Linear) and found in special:
            targets |= special[found]
        elif not isinstance(mlp, MixtureOfExperts) or found is not mlp.experts:
            for weight in found.weights():
                targets |= plain(weight, weight.name)
    if isinstance(mlp, MixtureOfExperts):
        targets |= _experts(mlp, [f"{prefix}.{name}" for name in names.experts])
    return targets


Fused = Callable[[Weight, str], Targets]


def _order(spec: DecoderSpec) -> Fused:
    def by_head(weight: Weight, source: str) -> Targets:
        return interleaved(weight, source, spec.num_heads)

    orders: Mapping[str, Fused] = {"stacked": plain, "interleaved": by_head}
    return component("qkv_order", spec.names.qkv_order, orders)


def _merged(layer: Linear, sources: Sequence[str], fused: Fused) -> Targets:
    targets: Targets = {}
    for weight in layer.weights():
        kind = weight.name.rsplit(".", 1)[1]
        full = [f"{source}.{kind}" for source in sources]
        targets |= fused(weight, full[0]) if len(full) == 1 else split(weight, full)
    return targets


def _experts(mlp: MixtureOfExperts, names: Sequence[str]) -> Targets:
    targets: Targets = {}
    for expert in range(mlp.experts.num_experts):
        gate, up, down = (f"{name.format(expert=expert)}.weight" for name in names)
        targets[gate] = Target(weight=mlp.experts.gate_up, part="gate", expert=expert)
        targets[up] = Target(weight=mlp.experts.gate_up, part="up", expert=expert)
        targets[down] = Target(weight=mlp.experts.down, expert=expert)
    return targets
