"""A layer's weight together with what computes with it."""

from __future__ import annotations

from typing import Any

from kernelet.contracts.op import WeightKernel, WeightScheme
from kernelet.layers.context import ModelContext
from kernelet.layers.kept import Kept
from kernelet.layers.kernels import Served, Use, serve
from kernelet.layers.quantized import KIND, Apart, MixedWeight, StoredWeight
from kernelet.layers.side_by_side import SideBySide
from kernelet.layers.weights import Weight


class ServedWeight:
    """A weight that checkpoints fill, as a model's map of tensors names it, and its kernel.

    Attributes:
        groups: Its parts by how they are stored: usually one.
        weight: Filled by a checkpoint.
        kernel: Computes with all of it.
    """

    def __init__(self, context: ModelContext, use: Use) -> None:
        self.groups = serve(context, use)
        pieces = [_weight(context, use, one) for one in self.groups]
        self.kernel: WeightKernel
        if len(pieces) == 1:
            self.weight, self.kernel = pieces[0], self.groups[0].kernel
        else:
            self.weight = MixedWeight(context, use, pieces)
            self.kernel = SideBySide([one.kernel for one in self.groups], [piece.shape[-2] for piece in pieces])

    @property
    def scheme(self) -> WeightScheme:
        """How it is stored, or its first part."""
        return self.groups[0].scheme

    def prepare(self) -> Any:
        """What the kernel computes with, made of what was written; ``kernel`` may be another one afterwards.

        Raises:
            WeightsError: if part of it was never written.
        """
        kernels: list[WeightKernel] = []
        rows: list[int] = []
        prepared: list[Any] = []
        for piece, one in zip(self.weight.pieces, self.groups, strict=True):
            made = piece.prepare(one)
            found = made if isinstance(made, Apart) else Apart((made,), (piece.shape[-2],))
            kernels += [one.kernel] * len(found.rows)
            rows += found.rows
            prepared += found.prepared
        if len(prepared) == 1:
            return prepared[0]
        self.kernel = SideBySide(kernels, rows)
        return tuple(prepared)


def _weight(context: ModelContext, use: Use, served: Served) -> Weight:
    weight: Weight
    if served.loaded:
        weight = StoredWeight(context, use, served)
    else:
        parts = {part: use.outputs[part] for part in served.parts}
        weight = Weight(context, f"{use.name}{KIND}", parts, use.inputs, use.experts)
    weight.scheme = served.scheme
    weight.kept = Kept(context, served)
    return weight
