"""Two methods written for plainness: one that quantizes while it loads, and a format of 4-bit weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from kernelet.config import ModelConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.contracts.quant import ModulePatterns, QuantizationConfig, QuantizationMethod, QuantLayer
from kernelet.errors import UnsupportedModelError, WeightsError

GROUP = 32
PLAIN4 = "plain4"
FIELDS = frozenset({"quant_method", "skip"})


class ReferenceInt8(QuantizationMethod):
    """Linear weights in 8 bits with a scale a row; ``exclude`` in the settings leaves modules as they are."""

    def __init__(self, settings: Settings, config: QuantizationConfig | None, model: ModelConfig) -> None:
        super().__init__(settings, config, model)
        if config is not None:
            raise UnsupportedModelError(f"the checkpoint is quantized with {config.get('quant_method')!r} already")
        self.patterns = ModulePatterns(filter(None, str(settings.values.get("exclude", "")).split(",")))

    def scheme(self, layer: QuantLayer) -> WeightScheme | None:
        if self.patterns.match(layer.name) or layer.role == "embedding" or layer.router:
            return None
        return WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),))

    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        weight = stored["weight"].double()
        if not bool(torch.isfinite(weight).all()):
            raise WeightsError(f"{layer.name} has values that are no numbers")
        scales = weight.abs().amax(1, keepdim=True) / 127
        scales[scales == 0] = 1
        return {"weight": (weight / scales).round().to(torch.int8), "scales": scales.float()}

    def unused(self) -> Sequence[str]:
        return self.patterns.unused()


class Plain4(QuantizationMethod):
    """A format: ``packed`` uint8 [out, in / 2], even columns in the low half, and ``scales`` float16 [out, groups]."""

    def __init__(self, settings: Settings, config: QuantizationConfig | None, model: ModelConfig) -> None:
        super().__init__(settings, config, model)
        unknown = sorted(set(config or ()) - FIELDS)
        if unknown or config is None:
            raise UnsupportedModelError(f"{', '.join(unknown) or 'nothing'} in quantization_config is not {PLAIN4}")
        self.patterns = ModulePatterns(config.get("skip", ()))

    def scheme(self, layer: QuantLayer) -> WeightScheme | None:
        if self.patterns.match(layer.name) or layer.role == "embedding" or layer.head or layer.router:
            return None
        if layer.shape[1] % 2:
            raise UnsupportedModelError(f"{layer.name}: {layer.shape[1]} inputs are no pairs")
        return WeightScheme(element="uint4", scales=(ScaleLevel("float16", (1, GROUP)),), zero_point="int")

    def stored(self, layer: QuantLayer) -> Sequence[str]:
        return ("packed", "scales")

    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        rows, columns = layer.shape
        wanted = {"packed": (rows, columns // 2), "scales": (rows, -(-columns // GROUP))}
        found = {name: tuple(tensor.shape) for name, tensor in stored.items()}
        if found != wanted:
            raise WeightsError(f"{layer.name} has tensors {found}, expected {wanted}")
        packed = stored["packed"]
        weight = torch.stack([packed & 15, packed >> 4], dim=2).reshape(rows, columns)
        return {
            "weight": weight,
            "scales": stored["scales"],
            "zero_points": torch.full_like(stored["scales"], 8, dtype=torch.uint8),
        }

    def identity(self) -> str:
        return f"{PLAIN4}-1"

    def unused(self) -> Sequence[str]:
        return self.patterns.unused()


def store_plain4(_layer: QuantLayer, weight: Tensor) -> tuple[Mapping[str, Tensor], Tensor]:
    """What a checkpoint of the format holds for a weight, and the weight that this stands for; element by element."""
    rows, columns = weight.shape
    groups = -(-columns // GROUP)
    scales = torch.zeros(rows, groups, dtype=torch.float16)
    packed = torch.zeros(rows, columns // 2, dtype=torch.uint8)
    stands_for = torch.zeros(rows, columns, dtype=torch.float64)
    for row, values in enumerate(weight.double()):
        for group in range(groups):
            scales[row, group] = max(float(values[group * GROUP : (group + 1) * GROUP].abs().max()) / 7, 1e-4)
        each = scales[row].double().repeat_interleave(GROUP)[:columns]
        whole = (values / each).round().clamp(-8, 7)
        stands_for[row] = whole * each
        pairs = (whole + 8).to(torch.uint8).view(-1, 2)
        packed[row] = pairs[:, 0] | pairs[:, 1] << 4
    return {"packed": packed, "scales": scales}, stands_for
