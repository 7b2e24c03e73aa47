"""How the weights of a model from a file are stored."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from kernelet.config import ModelConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import WeightScheme
from kernelet.contracts.quant import QuantizationConfig, QuantizationMethod, QuantLayer
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet_quant_gguf.types import BY_NAME, TensorType
from kernelet_quant_gguf.unpack import unpack

_EXPERT = re.compile(r"(?<=\.experts\.)\d+(?=\.)")


class GGUF(QuantizationMethod):
    """Types of tensors by module, as config.json lists them; modules that are not listed are unquantized."""

    def __init__(self, settings: Settings, config: QuantizationConfig | None, model: ModelConfig) -> None:
        super().__init__(settings, config, model)
        said = dict(config or {})
        unknown = sorted(said.keys() - {"quant_method", "types"})
        types = said.get("types")
        if unknown or said.get("quant_method") != "gguf" or not isinstance(types, Mapping):
            raise UnsupportedModelError(
                f"quantization_config has {', '.join(unknown) or said}: expected quant_method 'gguf' and types; it is "
                f"written by kernelet-quant-gguf where a *.gguf file is the model"
            )
        for module, name in types.items():
            if name not in BY_NAME or BY_NAME[name].scheme is None:
                served = ", ".join(kind.name for kind in BY_NAME.values() if kind.scheme is not None)
                raise UnsupportedModelError(f"quantization_config: {module} is {name!r}; served are {served}")
        self._types: Mapping[str, str] = types
        self._used: set[str] = set()

    def scheme(self, layer: QuantLayer) -> WeightScheme | None:
        kind = self._type(layer)
        if kind is None or kind.scheme is None:
            return None
        if layer.shape[1] % kind.block:
            raise UnsupportedModelError(
                f"{layer.name} has {layer.shape[1]} inputs, which are no blocks of {kind.block} ({kind.name})"
            )
        scheme = kind.scheme
        if self.settings["activations"] == "none":
            return scheme
        return WeightScheme(
            element=scheme.element,
            scales=scheme.scales,
            zero_point=scheme.zero_point,
            activation="dynamic",
            activation_element="int8",
        )

    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        kind = self._type(layer)
        assert kind is not None
        rows = stored.get("weight")
        expected = (layer.shape[0], kind.row_bytes(layer.shape[1]))
        if rows is None or rows.dtype != torch.uint8 or tuple(rows.shape) != expected:
            found = "nothing" if rows is None else f"{rows.dtype} {list(rows.shape)}"
            raise WeightsError(
                f"{layer.name}: a weight {list(layer.shape)} of {kind.name} is uint8 {list(expected)}, and the file "
                f"has {found}"
            )
        made = unpack(kind.name, rows, kind.nbytes)
        if any(not bool(torch.isfinite(values).all()) for values in made.values() if values.is_floating_point()):
            raise WeightsError(f"{layer.name} has scales that are infinite or no numbers: the file is damaged")
        return made

    def identity(self) -> str:
        return f"{type(self).__module__}-1"

    def unused(self) -> tuple[str, ...]:
        return tuple(f"{module} of the file" for module in self._types if module not in self._used)

    def _type(self, layer: QuantLayer) -> TensorType | None:
        for name in (layer.name, _EXPERT.sub("*", layer.name)):
            if name in self._types:
                self._used.add(name)
                return BY_NAME[self._types[name]]
        return None
