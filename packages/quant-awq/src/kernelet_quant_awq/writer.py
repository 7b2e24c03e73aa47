"""Writes AWQ checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import QuantLayer
from kernelet.contracts.quantizing import CalibratedBlock, InputGroup, Progress, Quantizer, QuantizerSource
from kernelet.errors import ConfigError, UnsupportedModelError, WeightsError
from kernelet_quant_awq.packing import EACH, INTERLEAVED, pack
from kernelet_quant_awq.rounding import Rounded, round_weight
from kernelet_quant_awq.search import find_factors, round_clipped

Made = Iterator[tuple[QuantLayer, Mapping[str, Tensor]]]


class AwqQuantizer(Quantizer):
    """4 bits in groups with zero points, version ``gemm``. Layers are calibrated on unquantized ones before them."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._group_size = int(settings["group_size"] or 0)
        if self._group_size < 1 and self._group_size != -1:
            raise ConfigError(f"group_size is {self._group_size}; it must be -1 or more than 0")

    def write(self, source: QuantizerSource, folder: Path, progress: Progress) -> None:
        left: list[str] = []
        config: dict[str, Any] = {
            "quant_method": "awq",
            "bits": 4,
            "group_size": self._group_size,
            "zero_point": True,
            "version": "gemm",
            "modules_to_not_convert": left,
        }
        source.save(folder, self._modules(source, left), config, progress)

    def _modules(self, source: QuantizerSource, left: list[str]) -> Made:
        for block in source.blocks():
            layers = {}
            for layer in block.layers:
                if source.excluded(layer) or layer.router:
                    left.append(layer.name)
                else:
                    layers[layer.name] = layer
                    self._check(layer, block.weight(layer.name))
            for group in block.groups:
                if group.before and any(name in layers for name in group.modules):
                    self._scale(block, group)
            for group in block.groups:
                for name in group.modules:
                    if name in layers:
                        yield layers[name], self._tensors(self._round(block, group, name))

    def _scale(self, block: CalibratedBlock, group: InputGroup) -> None:
        weights = [block.weight(name) for name in group.modules]
        factors = find_factors(weights, block.inputs(group), self._group_size)
        if factors is not None:
            block.scale(group, factors)

    def _round(self, block: CalibratedBlock, group: InputGroup, name: str) -> Rounded:
        weight = block.weight(name)
        if not self.settings["clip"]:
            return round_weight(weight, self._group_size)
        return round_clipped(weight, block.inputs(group), self._group_size)

    def _tensors(self, rounded: Rounded) -> Mapping[str, Tensor]:
        return {
            "qweight": pack(rounded.values.flatten(1), INTERLEAVED),
            "qzeros": pack(rounded.zeros.flatten(1), INTERLEAVED),
            "scales": rounded.scales.flatten(1).T.half().contiguous(),
        }

    def _check(self, layer: QuantLayer, weight: Tensor) -> None:
        rows, columns = layer.shape
        size = columns if self._group_size == -1 else self._group_size
        if rows % EACH or columns % size:
            raise UnsupportedModelError(
                f"{layer.name}: AWQ stores no weight of {rows} outputs and {columns} inputs in groups of {size}: "
                f"outputs must be a multiple of {EACH} and inputs of the group (--option group_size=N), or leave the "
                f"module as it is (--exclude)"
            )
        if not bool(torch.isfinite(weight).all()):
            raise WeightsError(f"{layer.name}.weight has values that are infinite or no numbers")
