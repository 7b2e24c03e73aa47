"""The format: which modules are quantized, in which form, and what is made of their tensors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from torch import Tensor

from kernelet.config import ModelConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.contracts.quant import ModulePatterns, QuantizationConfig, QuantizationMethod, QuantLayer
from kernelet.errors import UnsupportedModelError
from kernelet_quant_fp8.configuration import read
from kernelet_quant_fp8.tensors import INPUT_SCALES, WEIGHT_SCALES, input_scale, scales_of, weight_of

READING = "1"
"""Of ``kernelet_quant_fp8.tensors``: a change of what it makes of stored tensors changes it."""

NEVER_ASKED = re.compile(r"(.*\.)?[a-z0-9_]*norm(\.weight)?")
"""Writers list norms too, which no format quantizes."""

HEAD = "lm_head"
"""A tied head is no module of the checkpoint, and is listed nevertheless."""


class Fp8(QuantizationMethod):
    """Linear weights of layers. Heads, embeddings and routers are never quantized, whether or not they are listed."""

    def __init__(self, settings: Settings, config: QuantizationConfig | None, model: ModelConfig) -> None:
        super().__init__(settings, config, model)
        self._said = read(config)
        try:
            self._skipped = ModulePatterns(self._said.skipped)
        except ValueError as error:
            raise UnsupportedModelError(f"quantization_config: {error}") from error
        self._tied = False

    def scheme(self, layer: QuantLayer) -> WeightScheme | None:
        self._tied = self._tied or layer.tied
        is_skipped = self._skipped.match(layer.name)
        if is_skipped or layer.role == "embedding" or layer.head or layer.router:
            return None
        activation = self._activation
        return WeightScheme(
            element="e4m3fn",
            scales=(ScaleLevel("float32", self._block(layer)),),
            activation=activation,
            activation_element="e4m3fn" if activation else None,
        )

    def stored(self, layer: QuantLayer) -> Sequence[str]:
        return ("weight",)

    def optional(self, layer: QuantLayer) -> Sequence[str]:
        """One name of each scale is needed: writers differ in them."""
        return (*WEIGHT_SCALES, *INPUT_SCALES) if self._said.activation_scheme == "static" else WEIGHT_SCALES

    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        weight, factor = weight_of(layer, stored)
        scales = scales_of(layer, stored, self._said.weight_block_size) * factor
        if self._said.weight_block_size is not None and self._block(layer)[0] == 1:
            scales = scales.repeat_interleave(self._said.weight_block_size[0], 0)[: len(weight)].contiguous()
        found = {"weight": weight, "scales": scales}
        if self._activation == "static":
            found["input_scale"] = input_scale(layer, stored)
        return found

    def identity(self) -> str:
        return f"{type(self).__module__}-{READING}"

    def unused(self) -> Sequence[str]:
        entries = [entry for entry in self._skipped.unused() if not NEVER_ASKED.fullmatch(entry)]
        return [f"quantization_config: {entry}" for entry in entries if not (self._tied and entry == HEAD)]

    def _block(self, layer: QuantLayer) -> tuple[int, int]:
        """What a scale covers. One of the whole tensor is each output's: the configuration does not tell them apart.

        So is a block's where outputs are no whole blocks, so that several modules still are one weight, in any shares.
        """
        height, width = self._said.weight_block_size or (1, 0)
        return (1, width) if layer.shape[0] % height else (height, width)

    @property
    def _activation(self) -> str | None:
        """Dynamic scales of a block are of parts of a token: there inputs are not rounded at all."""
        if self.settings["activations"] == "none":
            return None
        is_whole = self._said.activation_scheme == "static" or self._said.weight_block_size is None
        return self._said.activation_scheme if is_whole else None
