"""Builds a model and loads its weights."""

from __future__ import annotations

import dataclasses
import io
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from kernelet.config import EngineConfig
from kernelet.contracts.executor import LayerPlan
from kernelet.contracts.model import Model, ModelArchitectureOffer, ModelInfo
from kernelet.contracts.op import PackedWeights
from kernelet.contracts.plugins import Owned, PluginView
from kernelet.errors import ConfigError, UnsupportedModelError
from kernelet.layers.context import SINGLE_RANK, ModelContext, Recording, TensorParallel, UnevenError
from kernelet.layers.dtypes import torch_dtype
from kernelet.layers.ops import OpTable
from kernelet.layers.weights import weight_bytes
from kernelet.loading.cache_scales import take_cache_scales
from kernelet.loading.loader import load
from kernelet.loading.progress import Progress
from kernelet.loading.weights_digest import weights_digest
from kernelet.loading.without import Without
from kernelet.worker.checkpoint import open_checkpoint
from kernelet.worker.quantization import make_quantization

logger = logging.getLogger("kernelet.worker")


@dataclass(frozen=True, kw_only=True)
class LoadedModel:
    """A model with its weights.

    Attributes:
        model: The model.
        row: Name of its architecture row.
        plans: How ops and weights are computed.
        weight_bytes: Bytes of its weights.
        mapped_bytes: Bytes of them that are pages of the checkpoint's files.
        cache_scales: Scales of a KV cache that the checkpoint has, by name.
        digest: Names the content of the checkpoint, where KV connectors run.
    """

    model: Model
    row: str
    plans: tuple[LayerPlan, ...]
    weight_bytes: int
    mapped_bytes: int = 0
    cache_scales: Mapping[str, torch.Tensor] = field(default_factory=dict)
    digest: str = ""


def load_model(
    config: EngineConfig,
    plugins: PluginView,
    device: Any,
    packed: PackedWeights | None = None,
    parallel: TensorParallel = SINGLE_RANK,
) -> LoadedModel:
    """Builds the architecture that the configuration names and fills it.

    Args:
        config: Names the model and its checkpoint.
        plugins: Offer architectures, formats and kernels.
        device: Where weights live.
        packed: Where prepared weights are kept between starts.
        parallel: The ranks that share each layer.

    Raises:
        UnsupportedModelError: if no plugin offers the architecture.
        ConfigError: if so many ranks cannot share the model; lists the numbers that can.
        WeightsError: if the checkpoint does not fit.
    """
    model, context, info = make_model(config, plugins, device, packed, parallel)
    size = weight_bytes(model) if isinstance(model, torch.nn.Module) else 0
    checkpoint = open_checkpoint(config.model, plugins)
    digest = weights_digest(checkpoint) if config.kv_transfer.connectors else ""
    reader, cache_scales = take_cache_scales(checkpoint)
    if context.quantization is not None:
        reader = Without(reader, context.quantization.ignored())
    load(model, reader, Progress("", 0, io.StringIO()) if parallel.rank else None)  # one bar is enough
    if packed is not None:
        packed.close()
    return LoadedModel(
        model=model,
        row=info.row,
        plans=(*context.ops.plans, *context.layer_plans),
        weight_bytes=size,
        mapped_bytes=reader.mapped_bytes(),
        cache_scales=cache_scales,
        digest=digest,
    )


def make_model(
    config: EngineConfig,
    plugins: PluginView,
    device: Any,
    packed: PackedWeights | None = None,
    parallel: TensorParallel = SINGLE_RANK,
) -> tuple[Model, ModelContext, ModelInfo]:
    """Builds the architecture that the configuration names, without weights; see ``load_model``.

    Raises:
        UnsupportedModelError: if no plugin offers the architecture.
        ConfigError: if so many ranks cannot share the model; lists the numbers that can.
    """
    owned = _architecture(config.model.architecture, plugins)
    dtype = torch_dtype(config.model.dtype)
    context = ModelContext(
        config=config.model,
        dtype=dtype,
        device=device,
        ops=OpTable(plugins, config.model.dtype),
        plugins=plugins,
        block_size=config.cache.block_size,
        quantization=make_quantization(config.model, plugins),
        packed=packed,
        parallel=parallel,
    )
    info: ModelInfo = plugins.load(owned, owned.offer.describe)(config.model.hf_config)
    model = build(plugins.load(owned), context)
    if context.quantization is not None and not parallel.rank:
        for entry in context.quantization.unused():
            logger.warning("quantization %s: %s matches no module of the model", config.model.quantization, entry)
    return model, context, info


def build(kind: Callable[[ModelContext], Model], context: ModelContext) -> Model:
    """Makes the model; its weights are unset.

    Raises:
        ConfigError: if so many ranks cannot share it; lists the numbers that can.
    """
    try:
        return kind(context)
    except UnevenError as error:
        whole = Recording(rank=0, size=1)
        kind(dataclasses.replace(context, parallel=whole, layer_plans=[]))
        raise ConfigError(f"{error}. {whole.advice()}") from error


def _architecture(name: str, plugins: PluginView) -> Owned[ModelArchitectureOffer]:
    offers = plugins.offers(ModelArchitectureOffer)
    for owned in offers:
        if owned.offer.name == name:
            return owned
    known = ", ".join(owned.offer.name for owned in offers) or "none"
    raise UnsupportedModelError(f"no installed plugin serves the architecture {name}; served are: {known}")
