"""Writes checkpoints with int8 weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import QuantLayer
from kernelet.contracts.quantizing import Progress, Quantizer, QuantizerSource
from kernelet.errors import ConfigError, UnsupportedModelError, WeightsError
from kernelet_quant_compressed_tensors.configuration import PACKED, Form, form_of, read
from kernelet_quant_compressed_tensors.rounding import round_weight, stored
from kernelet_quant_compressed_tensors.targets import HEAD


class Int8(Quantizer):
    """Linear weights in int8, to the nearest; heads, embeddings and routers stay as they are."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._group_size = int(settings["group_size"] or 0)
        self._rounds_inputs = settings["activations"] == "int8"
        if self._group_size < 0:
            raise ConfigError(f"group_size is {self._group_size}; it must be 0 (a scale an output) or more")
        if self._group_size and self._rounds_inputs:
            raise ConfigError(
                "group_size: where inputs are int8, the format's kernels want a scale an output; leave it 0"
            )

    def write(self, source: QuantizerSource, folder: Path, progress: Progress) -> None:
        taken = [layer for layer in source.layers if _can_be_taken(layer) and not source.excluded(layer)]
        if not taken:
            raise UnsupportedModelError(f"{source.model}: nothing is left to quantize")
        for layer in taken:
            if self._group_size and layer.shape[1] % self._group_size:
                raise UnsupportedModelError(
                    f"{layer.name} has {layer.shape[1]} inputs, which are no groups of {self._group_size}: choose "
                    f"another group_size, or leave the module as it is"
                )
        config = self.configuration(source, {layer.name for layer in taken})
        said = read(config)
        form = form_of("group_0", said.config_groups["group_0"], said.format, round_inputs=True)
        source.save(folder, _made(source, taken, form), config, progress)

    def configuration(self, source: QuantizerSource, taken: set[str]) -> dict[str, Any]:
        """``quantization_config``: a group of all linear modules, but for those that are named."""
        linear = [layer.name for layer in source.layers if layer.role != "embedding"]
        ignored = [name for name in linear if name not in taken]
        is_tied = any(layer.tied or (layer.role == "embedding" and layer.head) for layer in source.layers)
        group: dict[str, Any] = {
            "targets": ["Linear"],
            "weights": _numbers("group" if self._group_size else "channel", self._group_size or None),
            "input_activations": {**_numbers("token", None), "dynamic": True} if self._rounds_inputs else None,
            "output_activations": None,
        }
        return {
            "quant_method": "compressed-tensors",
            "format": "int-quantized" if self._rounds_inputs else PACKED,
            "quantization_status": "compressed",
            "config_groups": {"group_0": group},
            "ignore": [*ignored, *([HEAD] if is_tied and HEAD not in ignored else [])],
            "kv_cache_scheme": None,
        }


def _numbers(strategy: str, group_size: int | None) -> dict[str, Any]:
    return {
        "num_bits": 8,
        "type": "int",
        "symmetric": True,
        "strategy": strategy,
        "group_size": group_size,
        "dynamic": False,
    }


def _can_be_taken(layer: QuantLayer) -> bool:
    return layer.role != "embedding" and not layer.head and not layer.router


def _made(
    source: QuantizerSource, taken: list[QuantLayer], form: Form
) -> Iterator[tuple[QuantLayer, Mapping[str, Tensor]]]:
    for layer in taken:
        weight = source.tensor(f"{layer.name}.weight")
        if not bool(torch.isfinite(weight).all()):
            raise WeightsError(f"{layer.name}: its weight has values that are infinite or no numbers")
        yield layer, stored(round_weight(weight, form), form)
