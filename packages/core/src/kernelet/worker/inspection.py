"""What a model needs, told without its weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from kernelet.config import EngineConfig
from kernelet.contracts.executor import LayerPlan
from kernelet.contracts.inspection import Inspection, WeightPlan
from kernelet.contracts.model import Model
from kernelet.contracts.plugins import PluginView
from kernelet.layers.context import TensorParallel
from kernelet.layers.stored import stored_bytes
from kernelet.layers.weights import Weight, layers_of, weights_of
from kernelet.worker.kv_cache import KVCaches
from kernelet.worker.kv_quantization import make_kv_quantization
from kernelet.worker.memory import activation_bytes
from kernelet.worker.model import make_model

KIND = ".weight"


def inspect_model(config: EngineConfig, plugins: PluginView, device: Any) -> Inspection:
    """Builds the model of rank 0, and reads no weight.

    Args:
        config: Names the model; says how many ranks share it.
        plugins: Offer architectures and kernels.
        device: Where weights would live.
    """
    parallel = TensorParallel(rank=0, size=config.parallel.tensor_parallel_size)
    model, context, _ = make_model(config, plugins, device, None, parallel)
    caches = KVCaches(plugins, device, make_kv_quantization(config, plugins))
    specs = caches.specs(model.attention_layers()).values()
    return Inspection(
        weights=tuple(_weights(model, {plan.name: plan for plan in context.layer_plans})),
        activation_bytes=activation_bytes(model, config),
        token_bytes=sum(-(-spec.page_bytes // spec.block_size) for spec in specs),
    )


def _weights(model: Model, plans: Mapping[str, LayerPlan]) -> Iterator[WeightPlan]:
    if not isinstance(model, torch.nn.Module):
        return
    left = dict(plans)
    for weight in weights_of(layers_of(model)).values():
        for piece in weight.pieces:
            layer = weight.name.removesuffix(KIND)
            name = layer if len(weight.pieces) == 1 else f"{layer} ({', '.join(piece.parts)})"
            plan = left.pop(name, None)
            yield _plan(piece, weight.name if plan is None else name, plan)
    for plan in left.values():  # of weights that are another layer's
        yield WeightPlan(name=plan.name, role=plan.role, shape=(), scheme="shared", kernel=plan.choice, nbytes=0)


def _plan(weight: Weight, name: str, plan: LayerPlan | None) -> WeightPlan:
    return WeightPlan(
        name=name,
        role="" if plan is None else plan.role,
        shape=weight.shape,
        scheme=weight.scheme.describe(),
        kernel="" if plan is None else plan.choice,
        nbytes=stored_bytes(weight.scheme, weight.shape, weight.dtype.itemsize),
    )
