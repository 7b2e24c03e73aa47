"""Which modules a model has: asked of the model itself, which is built without weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from kernelet.config import EngineConfig, ModelConfig
from kernelet.contracts.model import ModelArchitectureOffer
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import WeightScheme
from kernelet.contracts.plugins import PluginView
from kernelet.contracts.quant import QuantizationMethod, QuantLayer
from kernelet.layers.context import ModelContext
from kernelet.layers.dtypes import torch_dtype
from kernelet.layers.ops import OpTable
from kernelet.worker.model import build


class Recorder(QuantizationMethod):
    """Quantizes nothing, and notes what it is asked about."""

    def __init__(self, model: ModelConfig) -> None:
        super().__init__(Settings(plugin="quant-tools"), None, model)
        self.layers: dict[str, QuantLayer] = {}

    def scheme(self, layer: QuantLayer) -> WeightScheme | None:
        self.layers.setdefault(layer.name, layer)
        return None

    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return stored


def model_layers(config: EngineConfig, plugins: PluginView) -> Sequence[QuantLayer]:
    """All modules of a model that have a weight in its checkpoint, in its order."""
    owned = next(one for one in plugins.offers(ModelArchitectureOffer) if one.offer.name == config.model.architecture)
    recorder = Recorder(config.model)
    context = ModelContext(
        config=config.model,
        dtype=torch_dtype(config.model.dtype),
        device="meta",
        ops=OpTable(plugins, config.model.dtype),
        plugins=plugins,
        block_size=config.cache.block_size,
        quantization=recorder,
    )
    build(plugins.load(owned), context)
    return tuple(one for one in recorder.layers.values() if not (one.tied and one.role == "linear"))
