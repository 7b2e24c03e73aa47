"""A writer written for plainness: the kit's 4-bit format, rounded to the nearest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from kernelet.contracts.quant import QuantLayer
from kernelet.contracts.quantizing import Progress, Quantizer, QuantizerSource
from kernelet.errors import WeightsError
from kernelet.testing.quantization.reference import GROUP, PLAIN4


class Plain4Writer(Quantizer):
    """Checkpoints that ``Plain4`` reads."""

    def write(self, source: QuantizerSource, folder: Path, progress: Progress) -> None:
        source.save(folder, self.made(source), self.config(source), progress)

    def config(self, source: QuantizerSource) -> Mapping[str, Any]:
        """``quantization_config``."""
        return {"quant_method": PLAIN4, "skip": [one.name for one in source.layers if self.skips(source, one)]}

    def skips(self, source: QuantizerSource, layer: QuantLayer) -> bool:
        """Whether a module stays as it is."""
        return source.excluded(layer) or layer.role == "embedding" or layer.head or layer.router

    def made(self, source: QuantizerSource) -> Iterator[tuple[QuantLayer, Mapping[str, Tensor]]]:
        """Tensors of each module."""
        for layer in source.layers:
            if not self.skips(source, layer):
                weight = source.tensor(f"{layer.name}.weight")
                if not bool(torch.isfinite(weight).all()):
                    raise WeightsError(f"{layer.name}: its weight has values that are infinite or no numbers")
                yield layer, pack(weight)


def pack(weight: Tensor) -> Mapping[str, Tensor]:
    """A weight [out, in] as ``store_plain4`` stores it, all at once."""
    rows, columns = weight.shape
    groups = -(-columns // GROUP)
    values = functional.pad(weight.double(), (0, groups * GROUP - columns)).view(rows, groups, GROUP)
    scales = (values.abs().amax(2) / 7).clamp(min=1e-4).half()
    whole = (values / scales.double()[..., None]).round().clamp(-8, 7).view(rows, -1)[:, :columns]
    pairs = (whole + 8).to(torch.uint8).reshape(rows, -1, 2)
    return {"packed": pairs[..., 0] | pairs[..., 1] << 4, "scales": scales}
