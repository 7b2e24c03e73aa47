"""Parameters that know which part of a checkpoint fills them, and that every element was written exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kernelet.errors import WeightsError
from kernelet.layers.context import ModelContext

SHOWN = 8
"""Names that a message lists at most."""


@dataclass(frozen=True)
class Shard:
    """A range of one axis: what this rank holds of ``full`` elements.

    Attributes:
        full: Elements over all ranks.
        start: First element of this rank.
        size: Elements of this rank.
    """

    full: int
    start: int
    size: int

    @classmethod
    def whole(cls, size: int) -> Shard:
        """Every rank holds all of it."""
        return cls(size, 0, size)

    @classmethod
    def even(cls, context: ModelContext, full: int, what: str) -> Shard:
        """Ranks hold equal consecutive parts.

        Raises:
            ValueError: if it does not divide.
        """
        size = context.parallel.share(full, what)
        return cls(full, context.parallel.rank * size, size)

    @property
    def slice(self) -> slice:
        """This rank's range."""
        return slice(self.start, self.start + self.size)


class Weight:
    """One tensor of a layer: parts stacked along the output axis, each filled from a checkpoint tensor.

    Attributes:
        name: Global name, e.g. ``"model.layers.0.self_attn.qkv_proj.weight"``.
        parts: Output axis by part name, in the order in which they are stacked.
        inputs: Input axis; None for vectors.
        experts: Number of stacked matrices; 0 for a plain one.
        tensor: [experts,] rows [, inputs] in the model's dtype.
    """

    def __init__(
        self,
        context: ModelContext,
        name: str,
        parts: dict[str, Shard],
        inputs: Shard | None = None,
        experts: int = 0,
    ) -> None:
        self.name = name
        self.parts = parts
        self.inputs = inputs
        self.experts = experts
        shape = ([experts] if experts else []) + [sum(part.size for part in parts.values())]
        shape += [inputs.size] if inputs else []
        self.tensor: Tensor | None = torch.empty(shape, dtype=context.dtype, device=context.device)
        self.nbytes = self.tensor.nbytes
        self._missing = {(part, expert) for part in parts for expert in range(experts or 1)}

    def missing(self) -> list[str]:
        """What nobody wrote yet, for people."""
        return [self._label(part, expert) for part, expert in sorted(self._missing)]

    def write(self, source: str, value: Tensor, part: str | None = None, expert: int | None = None) -> None:
        """Copies a whole checkpoint tensor's share of this rank.

        Args:
            source: Name in the checkpoint, for messages.
            value: Unsharded tensor of a part (of all parts in order when ``part`` is None), of one expert (of all when
                ``expert`` is None and there are some); any floating dtype.
            part: Name of the part.
            expert: Index of the expert.

        Raises:
            WeightsError: if the shape differs or the place was written before.
        """
        self._check(source, value, part, expert)
        names = [part] if part is not None else list(self.parts)
        experts = [expert or 0] if expert is not None or not self.experts else list(range(self.experts))
        for name in names:
            for index in experts:
                if (name, index) not in self._missing:
                    raise WeightsError(f"{source}: {self._label(name, index)} was written before by another tensor")
                self._missing.discard((name, index))
        rows_axis = value.dim() - (2 if self.inputs else 1)
        sizes = [self.parts[name].full for name in names]
        for name, piece in zip(names, torch.split(value, sizes, rows_axis), strict=True):
            self._copy(name, piece, expert)

    def take(self) -> Tensor:
        """Gives the tensor away; it is no longer held here.

        Raises:
            WeightsError: if part of it was never written.
        """
        if self._missing or self.tensor is None:
            raise WeightsError(f"nothing filled {', '.join(self.missing()) or self.name}")
        tensor, self.tensor = self.tensor, None
        return tensor

    def _copy(self, name: str, piece: Tensor, expert: int | None) -> None:
        if self.tensor is None:
            raise WeightsError(f"{self.name} was given away to its kernel before everything was written")
        offset = 0
        for other, shard in self.parts.items():
            if other == name:
                break
            offset += shard.size
        part = self.parts[name]
        index: tuple[slice, ...] = (slice(offset, offset + part.size),)
        source: tuple[slice, ...] = (part.slice,)
        if self.inputs is not None:
            index, source = (*index, slice(None)), (*source, self.inputs.slice)
        target = self.tensor if expert is None else self.tensor[expert]
        lead = target.dim() - len(index)
        target[(slice(None),) * lead + index].copy_(piece[(slice(None),) * lead + source])

    def _check(self, source: str, value: Tensor, part: str | None, expert: int | None) -> None:
        shards = self.parts.values() if part is None else [self.parts[part]]
        expected = ([self.experts] if self.experts and expert is None else []) + [sum(shard.full for shard in shards)]
        expected += [self.inputs.full] if self.inputs else []
        if list(value.shape) != expected:
            raise WeightsError(
                f"{source} has shape {list(value.shape)}, but {self.name} takes {expected}; "
                "config.json and weights do not belong together"
            )
        if not value.is_floating_point():
            raise WeightsError(f"{source} is of dtype {value.dtype}, which is no dense weight of {self.name}")

    def _label(self, part: str, expert: int) -> str:
        where = [text for text in (part, f"expert {expert}" if self.experts else "") if text]
        return f"{self.name} ({', '.join(where)})" if where else self.name


class Layer(torch.nn.Module):
    """A layer with weights. After loading, ``finish`` hands them to kernels."""

    def __init__(self, name: str) -> None:
        super().__init__()
        if not name:
            raise ValueError(f"{type(self).__name__} needs its global name")
        self.name = name

    def weights(self) -> Sequence[Weight]:
        """The layer's own weights, without those of its children."""
        return ()

    def finish(self) -> None:
        """Prepares what the forward pass needs; called once every weight is written."""


def layers_of(model: torch.nn.Module) -> list[Layer]:
    """All layers of a model, in order, each once."""
    return [module for module in model.modules() if isinstance(module, Layer)]


def weights_of(layers: Iterable[Layer]) -> dict[str, Weight]:
    """All weights by name.

    Raises:
        ValueError: if two weights have one name.
    """
    found: dict[str, Weight] = {}
    for layer in layers:
        for weight in layer.weights():
            if weight.name in found:
                raise ValueError(f"two weights are called {weight.name}")
            found[weight.name] = weight
    return found


def weight_bytes(model: torch.nn.Module) -> int:
    """Bytes of this rank's weights, before kernels pack them; parameters that are of no layer of the core included."""
    own = sum(parameter.nbytes for parameter in model.parameters())
    return own + sum(weight.nbytes for weight in weights_of(layers_of(model)).values())


def finish(model: torch.nn.Module) -> None:
    """Hands every weight of a model to its kernel, once all are written.

    Raises:
        WeightsError: naming the weights that nobody wrote.
    """
    layers = layers_of(model)
    missing = [label for weight in weights_of(layers).values() for label in weight.missing()]
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        raise WeightsError(f"no tensor of the checkpoint fills {', '.join(missing[:SHOWN])}{more}")
    for layer in layers:
        layer.finish()
