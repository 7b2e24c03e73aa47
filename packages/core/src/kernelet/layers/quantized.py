"""Weights that checkpoints hold quantized, and weights whose parts are stored differently."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kernelet.contracts.quant import QuantLayer
from kernelet.errors import PluginError, UnsupportedModelError, WeightsError
from kernelet.layers.canonical import Canonical, are_apart, in_rows, share, stack
from kernelet.layers.context import ModelContext
from kernelet.layers.kernels import Served, Use
from kernelet.layers.stored import make_canonical, stack_experts
from kernelet.layers.weights import Weight

logger = logging.getLogger("kernelet.worker")

KIND = ".weight"
"""Ending of the name of an unquantized weight."""


class Apart(NamedTuple):
    """What one kernel made of modules that cannot be one weight, and how many rows each has."""

    prepared: tuple[Any, ...]
    rows: tuple[int, ...]


class StoredWeight(Weight):
    """Parts of a weight that a checkpoint holds quantized: this rank's share of their canonical tensors."""

    def __init__(self, context: ModelContext, use: Use, served: Served) -> None:
        parts = {part: use.outputs[part] for part in served.parts}
        super().__init__(context, f"{use.name}{KIND}", parts, use.inputs, use.experts)
        self.scheme = served.scheme
        self._served = served
        self._modules = {module.layer.name: module.layer for module in served.modules}
        self._made: dict[tuple[str, int], dict[str, Tensor]] = {}

    def stored(self, source: str, names: Container[str] = ()) -> Mapping[str, str]:
        layer = self._module(source)
        method = self._served.method
        assert method is not None
        found = {last: f"{layer.name}.{last}" for last in method.stored(layer)}
        if not found:
            raise PluginError(f"{type(method).__qualname__}.stored({layer.name}) names no tensor")
        optional = {last: f"{layer.name}.{last}" for last in method.optional(layer)}
        return found | {last: name for last, name in optional.items() if name in names}

    def rows(self, part: str | None = None, expert: int | None = None) -> slice | None:
        return None

    def recall(self, content: str) -> bool:
        return not self._made and super().recall(content)

    def write(
        self,
        source: str,
        value: Tensor,
        part: str | None = None,
        expert: int | None = None,
        whole: tuple[int, ...] | None = None,
    ) -> None:
        """Refuses an unquantized tensor."""
        raise WeightsError(f"{source} is unquantized, and {self.name} is stored as {self.scheme.describe()}")

    def write_stored(
        self,
        source: str,
        tensors: Mapping[str, Tensor],
        part: str | None = None,
        expert: int | None = None,
        transform: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        """Takes this rank's share of a module.

        Args:
            source: Name that the weight would have in an unquantized checkpoint.
            tensors: What the checkpoint holds in its place, whole, by the last part of their names.
            part: Name of the part; None: all parts, in order.
            expert: Index of the expert.
            transform: Brings rows into our order; it is given their numbers.

        Raises:
            WeightsError: a tensor is damaged, or the place was written before.
            UnsupportedModelError: blocks of elements that share a scale would be cut.
        """
        layer, method = self._module(source), self._served.method
        assert method is not None
        names = self._mark(source, part, expert)
        made = make_canonical(method, layer, tensors, layer.shape)
        inputs = self.inputs
        columns = None if inputs is None or inputs.size == inputs.full else inputs.slice
        cut = share(layer.name, self._served.own, made, self._rows_of(layer, names, transform), columns)
        self._made[names[0], expert or 0] = {name: tensor.to(self.device) for name, tensor in cut.items()}

    def prepare(self, served: Served) -> Any:
        """What the kernel computes with; ``Apart`` where modules have an order or a scale of the input of their own."""
        if self.kept is not None and self.kept.found:
            return self.kept.restore()
        self._check_whole()
        if not any(are_apart(pieces) for pieces in self._pieces_of_experts()):
            return super().prepare(served)
        own, experts = self._served.own, self._pieces_of_experts()
        self._made = {}
        rows = tuple(len(piece["weight"]) for piece in experts[0])
        names = ", ".join(module.layer.name for module in self._served.modules[: len(rows)])
        logger.info("%s: %s are computed apart, since their inputs are", self.name, names)
        columns = [[in_rows(own, piece) for piece in column] for column in zip(*experts, strict=True)]
        made = [stack_experts(column) if self.experts else column[0] for column in columns]
        return Apart(tuple(served.kernel.prepare(tensors) for tensors in made), rows)

    def canonical(self, served: Served) -> Canonical:
        self._check_whole()
        each = [stack(self._served.own, pieces) for pieces in self._pieces_of_experts()]
        self._made = {}
        return stack_experts(each) if self.experts else each[0]

    def _pieces_of_experts(self) -> list[list[dict[str, Tensor]]]:
        """Canonical tensors of modules, in the order of the rows, of each expert."""
        made = self._made
        return [
            [made[part, expert] for part in self.parts if (part, expert) in made] for expert in range(self.experts or 1)
        ]

    def take(self) -> Tensor:
        """There is no tensor to take."""
        raise WeightsError(f"{self.name} is stored as {self.scheme.describe()}: there is no unquantized tensor")

    def _rows_of(
        self, layer: QuantLayer, names: Sequence[str], transform: Callable[[Tensor], Tensor] | None
    ) -> Tensor | None:
        """Numbers of this rank's rows of a module, in our order; None: all of them as they are."""
        shards = [self.parts[name] for name in names]
        full = sum(shard.full for shard in shards)
        if transform is None and all(shard.size == shard.full for shard in shards):
            return None
        order = torch.arange(full) if transform is None else transform(torch.arange(full))
        if not torch.equal(order.sort().values, torch.arange(full)):
            raise UnsupportedModelError(f"{layer.name} is quantized, and the model does not only reorder its rows")
        pieces = order.split([shard.full for shard in shards])
        return torch.cat([piece[shard.slice] for piece, shard in zip(pieces, shards, strict=True)])

    def _module(self, source: str) -> QuantLayer:
        layer = self._modules.get(source.removesuffix(KIND))
        if layer is None or not source.endswith(KIND):
            raise PluginError(
                f"{source} fills {self.name}, which is quantized as {', '.join(self._modules)}: the model must give "
                f"its layer the sources that checkpoints have"
            )
        return layer


class MixedWeight(Weight):
    """A weight in pieces that are stored differently, each of some of its parts."""

    def __init__(self, context: ModelContext, use: Use, pieces: Sequence[Weight]) -> None:
        super().__init__(context, f"{use.name}{KIND}", dict(use.outputs), use.inputs, use.experts)
        self._pieces = tuple(pieces)

    @property
    def pieces(self) -> Sequence[Weight]:
        return self._pieces

    def piece(self, part: str | None = None) -> Weight:
        return next((piece for piece in self._pieces if part in piece.parts), self)

    def missing(self) -> list[str]:
        return [label for piece in self._pieces for label in piece.missing()]

    def recall(self, content: str) -> bool:
        """Pieces are recalled one by one."""
        return False

    def write(
        self,
        source: str,
        value: Tensor,
        part: str | None = None,
        expert: int | None = None,
        whole: tuple[int, ...] | None = None,
    ) -> None:
        """Takes a tensor of a part."""
        if part is None:
            raise WeightsError(f"{source} holds all parts of {self.name}, which are stored differently")
        self.piece(part).write(source, value, part, expert, whole)
