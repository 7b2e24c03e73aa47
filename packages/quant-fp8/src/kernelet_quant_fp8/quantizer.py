"""Writes checkpoints with fp8 weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor

from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import QuantLayer
from kernelet.contracts.quantizing import Progress, Quantizer, QuantizerSource
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet_quant_fp8.rounding import round_weight

BLOCK = (128, 128)


class Fp8Quantizer(Quantizer):
    """Linear weights in fp8, to the nearest; heads, embeddings and routers stay as they are."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._block = BLOCK if settings["scales"] == "block" else None

    def write(self, source: QuantizerSource, folder: Path, progress: Progress) -> None:
        linear = [layer for layer in source.layers if layer.role != "embedding"]
        can_be = [layer for layer in linear if not layer.head and not layer.router]
        taken = [layer for layer in can_be if not source.excluded(layer)]
        if not taken:
            raise UnsupportedModelError(f"{source.model}: nothing is left to quantize")
        names = {layer.name for layer in taken}
        config = {
            "quant_method": "fp8",
            "fmt": "e4m3",
            "activation_scheme": "dynamic",
            "weight_block_size": None if self._block is None else list(self._block),
            "modules_to_not_convert": [layer.name for layer in linear if layer.name not in names],
        }
        source.save(folder, self._made(source, taken), config, progress)

    def _made(
        self, source: QuantizerSource, taken: list[QuantLayer]
    ) -> Iterator[tuple[QuantLayer, Mapping[str, Tensor]]]:
        for layer in taken:
            weight = source.tensor(f"{layer.name}.weight")
            if not bool(torch.isfinite(weight).all()):
                raise WeightsError(f"{layer.name}: its weight has values that are infinite or no numbers")
            numbers, scales = round_weight(weight, self._block or (0, 0))
            name, value = ("weight_scale", scales.reshape(1)) if self._block is None else ("weight_scale_inv", scales)
            yield layer, {"weight": numbers, name: value}
