"""The format: which modules are quantized, in which form, and what is made of their tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from kernelet.config import ModelConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.contracts.quant import QuantizationConfig, QuantizationMethod, QuantLayer
from kernelet.errors import UnsupportedModelError
from kernelet_quant_compressed_tensors.configuration import Form, form_of, read
from kernelet_quant_compressed_tensors.targets import Targets
from kernelet_quant_compressed_tensors.tensors import canonical

READING = "1"
"""Of ``kernelet_quant_compressed_tensors.tensors``: a change of what it makes of stored tensors changes it."""


class CompressedTensors(QuantizationMethod):
    """What ``quantization_config`` says of each module."""

    def __init__(self, settings: Settings, config: QuantizationConfig | None, model: ModelConfig) -> None:
        super().__init__(settings, config, model)
        said = read(config)
        round_inputs = settings["activations"] == "checkpoint"
        self._forms = {
            target: form_of(name, group, said.format, round_inputs=round_inputs)
            for name, group in said.config_groups.items()
            for target in group.targets
        }
        try:
            self._targets, self._ignored = Targets(self._forms), Targets(said.ignore or ())
        except ValueError as error:
            raise UnsupportedModelError(f"quantization_config: {error}") from error

    def scheme(self, layer: QuantLayer) -> WeightScheme | None:
        form = self._form(layer)
        if form is None:
            return None
        columns, width = layer.shape[1], form.block[1]
        if form.kind == "group" and columns % width:
            raise UnsupportedModelError(
                f"{layer.name} has {columns} inputs, and quantization_config.config_groups.{form.group} says groups of "
                f"{width}: the format has whole groups only"
            )
        return WeightScheme(
            element=form.element,
            scales=(ScaleLevel("float32", form.block_of(layer.shape[0])),),
            zero_point=None if form.symmetric else "int",
            permuted=form.act_order,
            activation=form.activation,
            activation_element=form.activation_element,
        )

    def stored(self, layer: QuantLayer) -> Sequence[str]:
        form = self._quantized(layer)
        found = ["weight_packed", "weight_shape"] if form.packed else ["weight"]
        found += ["weight_scale"] if form.symmetric else ["weight_scale", "weight_zero_point"]
        found += ["weight_g_idx"] if form.act_order else []
        return [*found, "input_scale"] if form.activation == "static" else found

    def optional(self, layer: QuantLayer) -> Sequence[str]:
        """What writers leave though it says nothing: zeros, columns in order, scales that are not used."""
        form = self._quantized(layer)
        found = ["weight_zero_point"] if form.symmetric else []
        found += [] if form.act_order else ["weight_g_idx"]
        return [*found, "input_scale"] if form.static and form.activation != "static" else found

    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return canonical(layer, self._quantized(layer), stored)

    def identity(self) -> str:
        return f"{type(self).__module__}-{READING}"

    def unused(self) -> Sequence[str]:
        targets = [f"quantization_config.config_groups: target {entry}" for entry in self._targets.unused()]
        return [*targets, *(f"quantization_config.ignore: {entry}" for entry in self._ignored.unused())]

    def _form(self, layer: QuantLayer) -> Form | None:
        target, ignored = self._targets.find(layer), self._ignored.find(layer)
        return None if target is None or ignored is not None else self._forms[target]

    def _quantized(self, layer: QuantLayer) -> Form:
        form = self._form(layer)
        assert form is not None, f"{layer.name} is not quantized"
        return form
