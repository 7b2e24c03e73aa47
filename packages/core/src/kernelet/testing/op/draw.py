"""Random inputs of an op: the same numbers in the dtype that is tried and in float64, and each row by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernelet.contracts.plugins import PluginView
from kernelet.layers.context import ModelContext
from kernelet.layers.dtypes import wide
from kernelet.layers.weights import Layer
from kernelet.testing.plugin_view import ReferencePlugins
from kernelet.testing.tensors.context import make_context

MAX_LEN = 512
"""Positions are below this."""


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Where inputs come from.

    Attributes:
        dtype: What is computed in.
        rounded: Values are rounded to this first: the dtype that is tried.
        rows: A seed for each row.
        device: Where tensors are.
        plugins: Where layers get their kernels; None: the references.
        poisoned: Seeds of rows that hold NaN.
    """

    dtype: torch.dtype
    rounded: torch.dtype
    rows: Sequence[int]
    device: Any = "cpu"
    plugins: PluginView | None = None
    poisoned: frozenset[int] = frozenset()

    @property
    def exact(self) -> Draw:
        """The same numbers in float64 on the CPU, with the references' kernels."""
        return replace(self, dtype=torch.float64, device="cpu", plugins=None)

    def context(self) -> ModelContext:
        """What layers are made from."""
        plugins = self.plugins or ReferencePlugins()
        return make_context(dtype=self.dtype, device=self.device, plugins=plugins, max_model_len=MAX_LEN)

    def row(self, name: str, *shape: int, scale: float = 1.0, is_wide: bool = False) -> Tensor:
        """[rows, *shape], row i by the seed of row i.

        Args:
            name: Of the input; others have other numbers.
            shape: Of a row.
            scale: Typical size.
            is_wide: In the wide dtype, as a residual stream.
        """
        made = {seed: _normal((*name.encode(), seed), shape) for seed in set(self.rows)}
        drawn = np.stack([made[seed] for seed in self.rows]) if len(self.rows) else np.empty((0, *shape))
        for index, seed in enumerate(self.rows):
            if seed in self.poisoned:
                drawn[index] = np.nan
        return self._place(drawn * scale, is_wide=is_wide)

    def weight(self, name: str, *shape: int, scale: float = 1.0, shift: float = 0.0, is_wide: bool = False) -> Tensor:
        """[*shape], the same for all rows."""
        return self._place(_normal((*name.encode(),), shape) * scale + shift, is_wide=is_wide)

    def positions(self) -> Tensor:
        """int64 [rows]."""
        places = [(seed * 37 + 5) % MAX_LEN for seed in self.rows]
        return torch.tensor(places, dtype=torch.int64, device=self.device)

    def _place(self, drawn: np.ndarray[Any, Any], *, is_wide: bool) -> Tensor:
        rounded, dtype = (wide(self.rounded), wide(self.dtype)) if is_wide else (self.rounded, self.dtype)
        return torch.from_numpy(drawn).to(rounded).to(dtype).to(self.device)

    def fill(self, *layers: Layer) -> None:
        """Gives layers random weights by their names: matrices of a size that keeps products near 1, vectors near 1."""
        for layer in layers:
            for weight in layer.weights():
                matrix = weight.inputs is not None
                scale, shift = (weight.shape[-1] ** -0.5, 0.0) if matrix else (0.3, 1.0)
                weight.write("drawn", self.weight(weight.name, *weight.shape, scale=scale, shift=shift))
            layer.finish()


def _normal(seed: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape)
