"""The override: a layer as it is, then a vector added to what it hands on."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from acme_steering.options import PLUGIN, parse_layers, required
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import Op
from kernelet.errors import ConfigError
from kernelet.layers.step import ComposedLayer, Step


def read_vector(path: Path) -> Tensor:
    """The vector of a file, [hidden] in float64.

    Raises:
        ConfigError: the file cannot be read, or holds something else.
    """
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"{PLUGIN}.vector: {path} cannot be read as a safetensors file: {error}") from error
    shapes = {name: list(tensor.shape) for name, tensor in tensors.items()}
    found = next(iter(tensors.values()), torch.empty(()))
    is_vector = found.dim() > 0 and found.numel() == found.shape[-1] and found.is_floating_point()
    if len(tensors) != 1 or not is_vector:
        raise ConfigError(f"{PLUGIN}.vector: {path} must hold one floating tensor [hidden], and has {shapes}")
    vector = found.flatten().double()
    if not vector.isfinite().all():
        raise ConfigError(f"{PLUGIN}.vector: {path} holds values that are not finite")
    return vector


class SteeredLayer(Op):
    """Serves every model whose layers know their place: the layer itself is computed as without this op.

    Turner et al. 2023, "Steering Language Models With Activation Engineering" (arXiv 2308.10248). The vector is added
    at every position, to the prompt's tokens too, so a cached prefix is the same for all requests of an engine.
    """

    def __init__(self, settings: Settings) -> None:
        """Reads the vector.

        Raises:
            ConfigError: an option is missing or wrong.
        """
        super().__init__(settings)
        strength = float(settings["strength"] or 0.0)
        if not math.isfinite(strength):
            raise ConfigError(f"{PLUGIN}.strength is {strength}: give a finite number")
        self._layers = parse_layers(required(settings["layers"], "layers"))
        self._added = read_vector(Path(required(settings["vector"], "vector")).expanduser()) * strength
        self._ready: Tensor | None = None

    def __call__(self, layer: ComposedLayer, residual: Tensor, step: Step) -> Tensor:
        """[tokens, hidden] -> the same.

        Raises:
            ConfigError: the vector is as wide as another model.
        """
        residual = layer.compose(residual, step)
        if layer.index not in self._layers:
            return residual
        if self._ready is None:
            self._ready = self._for(residual)
        return residual + self._ready

    def _for(self, residual: Tensor) -> Tensor:
        if len(self._added) != residual.shape[-1]:
            raise ConfigError(
                f"{PLUGIN}.vector has {len(self._added)} elements, but the model's hidden size is {residual.shape[-1]}"
            )
        return self._added.to(residual)
