"""The methods: which modules are quantized, and in which form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from kernelet.config import ModelConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.contracts.quant import ModulePatterns, QuantizationConfig, QuantizationMethod, QuantLayer
from kernelet.errors import ConfigError, UnsupportedModelError, WeightsError
from kernelet_quant_online.rounding import to_int4, to_int8

GROUP_SIZES = (32, 64, 128)
ROUNDING = "1"
"""Of ``kernelet_quant_online.rounding``: a change of what it makes of a weight changes it."""


class Online(QuantizationMethod):
    """Quantizes dense weights; ``layers`` is the form of what is neither head nor embedding."""

    layers: ClassVar[str]

    def __init__(self, settings: Settings, config: QuantizationConfig | None, model: ModelConfig) -> None:
        super().__init__(settings, config, model)
        if config is not None:
            raise UnsupportedModelError(
                f"{settings.plugin} quantizes unquantized checkpoints, and this one is quantized with "
                f"{config.get('quant_method')!r}"
            )
        if settings["group_size"] not in GROUP_SIZES:
            raise ConfigError(
                f"{settings.plugin}.group_size is {settings['group_size']}; it must be one of "
                f"{', '.join(map(str, GROUP_SIZES))}"
            )
        entries = [entry.strip() for entry in str(settings["exclude"] or "").split(",") if entry.strip()]
        try:
            self._excluded = ModulePatterns(entries)
        except ValueError as error:
            raise ConfigError(f"{settings.plugin}.exclude: {error}") from error

    def scheme(self, layer: QuantLayer) -> WeightScheme | None:
        excluded = self._excluded.match(layer.name)
        form = self._form(layer)
        if excluded or layer.router or form == "none":
            return None
        activation = "dynamic" if self.settings["activations"] == "int8" else None
        return WeightScheme(
            element=form if form == "int8" or not self.settings["zero_points"] else "uint4",
            scales=(ScaleLevel("float32", (1, self._group_size if form == "int4" else 0)),),
            zero_point="float" if form == "int4" and self.settings["zero_points"] else None,
            activation=activation,
            activation_element="int8" if activation else None,
        )

    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        weight = stored["weight"]
        if not bool(torch.isfinite(weight).all()):
            raise WeightsError(f"{layer.name}: its weight has values that are infinite or no numbers")
        if self._form(layer) == "int8":
            return to_int8(weight)
        return to_int4(weight, self._group_size, zero_points=bool(self.settings["zero_points"]))

    def identity(self) -> str:
        return f"{type(self).__module__}-{ROUNDING}"

    def unused(self) -> Sequence[str]:
        return [f"{self.settings.plugin}.exclude={entry}" for entry in self._excluded.unused()]

    @property
    def _group_size(self) -> int:
        return int(self.settings["group_size"] or 0)

    def _form(self, layer: QuantLayer) -> str:
        if layer.head:
            return str(self.settings["head"])
        return str(self.settings["embedding"]) if layer.role == "embedding" else self.layers


class Int8(Online):
    """8 bits, a scale an output."""

    layers = "int8"


class Int4(Online):
    """4 bits, a scale a group."""

    layers = "int4"
