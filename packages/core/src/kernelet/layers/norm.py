"""Normalization layers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kernelet.layers.context import ModelContext
from kernelet.layers.dtypes import wide
from kernelet.layers.weights import Layer, Shard, Weight


class Norm(Layer):
    """Base of norms over the last axis; ``weight`` and ``bias`` are in the wide dtype (float32 for 16-bit models).

    The input may be in the wide dtype, as a residual stream is; the output is in the model's.

    Attributes:
        dtype: The model's dtype.
        kind: ``"rms"`` or ``"layer"``.
        weight: [size], any offset included; set by ``finish``.
        bias: [size] or None.
        eps: Added to the mean square or variance.
    """

    kind: str

    def __init__(
        self, context: ModelContext, name: str, shard: Shard, eps: float, *, offset: float = 0.0, bias: bool = False
    ) -> None:
        super().__init__(name)
        self.dtype = context.dtype
        self.eps = eps
        self.ops = context.ops
        self.offset = offset
        self.source = Weight(context, f"{name}.weight", {"": shard})
        self.bias_source = Weight(context, f"{name}.bias", {"": shard}) if bias else None
        self.weight = torch.empty(0)
        self.bias: Tensor | None = None

    def weights(self) -> Sequence[Weight]:
        return [self.source] if self.bias_source is None else [self.source, self.bias_source]

    def finish(self) -> None:
        weight = self.source.take()
        self.weight = weight.to(wide(weight.dtype)) + self.offset
        if self.bias_source is not None:
            self.bias = self.bias_source.take().to(self.weight.dtype)

    def forward(self, x: Tensor) -> Tensor:
        """[..., size] -> the same shape, in the model's dtype."""
        raise NotImplementedError


class RMSNorm(Norm):
    """Root mean square norm; some families store the weight less one (``offset`` 1)."""

    kind = "rms"

    def forward(self, x: Tensor) -> Tensor:
        return self.ops.rms_norm(x, self.weight, self.eps).to(self.dtype)


class LayerNorm(Norm):
    """Layer norm, with or without bias."""

    kind = "layer"

    def forward(self, x: Tensor) -> Tensor:
        return self.ops.layer_norm(x, self.weight, self.bias, self.eps).to(self.dtype)
