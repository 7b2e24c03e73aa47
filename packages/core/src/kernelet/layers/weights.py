"""Parameters that know which part of a checkpoint fills them, and that every element was written exactly once."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kernelet.contracts.op import DENSE
from kernelet.errors import WeightsError
from kernelet.layers.context import ModelContext
from kernelet.layers.kept import Kept
from kernelet.layers.stored import stored_bytes

if TYPE_CHECKING:
    from kernelet.layers.kernels import Served

SHOWN = 8
"""Names that a message lists at most."""


@dataclass(frozen=True)
class Shard:
    """A range of one axis: what this rank holds of ``full`` elements.

    Attributes:
        full: Elements over all ranks.
        start: First element of this rank.
        size: Elements of this rank.
        shared: Other ranks hold other elements, if there are other ranks.
    """

    full: int
    start: int
    size: int
    shared: bool = field(default=False, repr=False, compare=False)

    @classmethod
    def whole(cls, size: int) -> Shard:
        """Every rank holds all of it."""
        return cls(size, 0, size)

    @classmethod
    def even(cls, context: ModelContext, full: int, what: str) -> Shard:
        """Ranks hold equal consecutive parts.

        Raises:
            UnevenError: if it does not divide.
        """
        size = context.parallel.share(full, what)
        return cls(full, context.parallel.rank * size, size, shared=True)

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
        shape: [experts,] rows [, inputs] of this rank.
        dtype: The model's.
        device: Where the tensor lives.
        tensor: What was written; None before the first write, and once it was given away.
        scheme: How it is stored once it is handed to its kernel.
        kept: What its kernel made of it at an earlier start; None: nobody asks.
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
        rows = sum(part.size for part in parts.values())
        self.shape = (*([experts] if experts else []), rows, *([inputs.size] if inputs else []))
        self.dtype = context.dtype
        self.device = torch.device(context.device)
        self.tensor: Tensor | None = None
        self.scheme = DENSE
        self.kept: Kept | None = None
        self._missing = {(part, expert) for part in parts for expert in range(experts or 1)}

    @property
    def nbytes(self) -> int:
        """Bytes of the whole tensor."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def pieces(self) -> Sequence[Weight]:
        """What is written, recalled and prepared on its own: the weight, or groups of parts that are stored alike."""
        return (self,)

    def piece(self, part: str | None = None) -> Weight:
        """The piece that has a part."""
        return self

    def stored(self, source: str, names: Container[str] = ()) -> Mapping[str, str]:
        """What a checkpoint holds in the place of a tensor: names by their last part; empty: the tensor itself.

        Args:
            source: Name of the tensor.
            names: What the checkpoint holds.
        """
        return {}

    def missing(self) -> list[str]:
        """What nobody wrote yet, for people."""
        return [self._label(part, expert) for part, expert in sorted(self._missing)]

    def rows(self, part: str | None = None, expert: int | None = None) -> slice | None:
        """Rows of a whole checkpoint tensor that this rank takes; None: all, or not one range of them."""
        names = [part] if part is not None else list(self.parts)
        if len(names) > 1 or (self.experts and expert is None):
            return None
        shard = self.parts[names[0]]
        return shard.slice if shard.size < shard.full else None

    def write(
        self,
        source: str,
        value: Tensor,
        part: str | None = None,
        expert: int | None = None,
        whole: tuple[int, ...] | None = None,
    ) -> None:
        """Takes this rank's share of a whole checkpoint tensor: a copy, or a view where that is all of the weight.

        Args:
            source: Name in the checkpoint, for messages.
            value: Unsharded tensor of a part (of all parts in order when ``part`` is None), of one expert (of all when
                ``expert`` is None and there are some); any floating dtype. Nobody may change it afterwards.
            part: Name of the part.
            expert: Index of the expert.
            whole: Shape of the tensor, of which ``value`` has only the ``rows`` of this rank; None: it has all.

        Raises:
            WeightsError: if the shape differs or the place was written before.
        """
        self._check(source, tuple(value.shape) if whole is None else whole, value.dtype, part, expert)
        names = self._mark(source, part, expert)
        rows_axis = value.dim() - (2 if self.inputs else 1)
        if whole is not None:
            pieces = [self._columns(value)]
        else:
            sizes = [self.parts[name].full for name in names]
            split = zip(names, value.split(sizes, rows_axis), strict=True)
            pieces = [self._columns(self._rows(name, piece)) for name, piece in split]
        if expert is None and (view := self._view(value, pieces)) is not None:
            self.tensor = view
            return
        for name, piece in zip(names, pieces, strict=True):
            self._copy(name, piece, expert)

    def write_stored(
        self,
        source: str,
        tensors: Mapping[str, Tensor],
        part: str | None = None,
        expert: int | None = None,
        transform: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        """Takes what ``stored`` names, see ``kernelet.layers.quantized.StoredWeight``; this weight is unquantized."""
        raise WeightsError(f"{', '.join(tensors)} of {source} are no unquantized weight of {self.name}")

    def recall(self, content: str) -> bool:
        """Takes what the kernel made of the same content at an earlier start, if it is kept: no need to write it then.

        Args:
            content: Names all that would be written, and where.
        """
        description = (self.dtype, self.shape, self.parts, self.inputs)
        if self.kept is None or self.tensor is not None or not self.kept.find(f"{description} {content}"):
            return False
        self._missing.clear()
        return True

    def prepare(self, served: Served) -> Any:
        """What a kernel computes with: what it made at an earlier start, else what it makes of the weight now.

        Raises:
            WeightsError: if part of it was never written.
        """
        if self.kept is not None and self.kept.found:
            return self.kept.restore()
        prepared = served.kernel.prepare(self.canonical(served))
        if self.kept is not None:
            self.kept.save(prepared)
        return prepared

    def canonical(self, served: Served) -> Mapping[str, Tensor]:
        """Canonical tensors of the weight, which is no longer held here.

        Raises:
            WeightsError: if part of it was never written.
        """
        return served.canonical(self.take())

    def take(self) -> Tensor:
        """Gives the tensor away; it is no longer held here.

        Raises:
            WeightsError: if part of it was never written.
        """
        self._check_whole()
        tensor, self.tensor = self.tensor, None
        if tensor is None:
            raise WeightsError(f"nothing filled {self.name}")
        return tensor

    def _mark(self, source: str, part: str | None, expert: int | None) -> list[str]:
        """Names of the parts that are written now.

        Raises:
            WeightsError: one was written before.
        """
        names = [part] if part is not None else list(self.parts)
        experts = [expert or 0] if expert is not None or not self.experts else list(range(self.experts))
        for name in names:
            for index in experts:
                if (name, index) not in self._missing:
                    raise WeightsError(f"{source}: {self._label(name, index)} was written before by another tensor")
                self._missing.discard((name, index))
        return names

    def _check_whole(self) -> None:
        if self._missing:
            raise WeightsError(f"nothing filled {', '.join(self.missing())}")

    def _rows(self, name: str, piece: Tensor) -> Tensor:
        """This rank's rows of a whole part."""
        return piece.narrow(-2 if self.inputs else -1, self.parts[name].start, self.parts[name].size)

    def _columns(self, rows: Tensor) -> Tensor:
        """This rank's inputs of rows."""
        return rows if self.inputs is None else rows.narrow(-1, self.inputs.start, self.inputs.size)

    def _view(self, value: Tensor, pieces: Sequence[Tensor]) -> Tensor | None:
        """The given tensor as the weight, where nothing of it needs to move."""
        whole = pieces[0] if len(pieces) == 1 else value
        fits = whole.shape == self.shape and whole.dtype == self.dtype and whole.device == self.device
        return whole if fits and whole.is_contiguous() else None

    def _copy(self, name: str, piece: Tensor, expert: int | None) -> None:
        if self.tensor is None:
            self.tensor = torch.empty(self.shape, dtype=self.dtype, device=self.device)
        offset = 0
        for other, shard in self.parts.items():
            if other == name:
                break
            offset += shard.size
        target = self.tensor if expert is None else self.tensor[expert]
        target.narrow(-2 if self.inputs else -1, offset, self.parts[name].size).copy_(piece)

    def _check(
        self, source: str, shape: tuple[int, ...], dtype: torch.dtype, part: str | None, expert: int | None
    ) -> None:
        shards = self.parts.values() if part is None else [self.parts[part]]
        expected = ([self.experts] if self.experts and expert is None else []) + [sum(shard.full for shard in shards)]
        expected += [self.inputs.full] if self.inputs else []
        if list(shape) != expected:
            raise WeightsError(
                f"{source} has shape {list(shape)}, but {self.name} takes {expected}; "
                "config.json and weights do not belong together"
            )
        if not dtype.is_floating_point:
            raise WeightsError(f"{source} is of dtype {dtype}, which is no dense weight of {self.name}")

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
    """Bytes of this rank's weights as stored, before kernels pack them; parameters of no layer of the core included."""
    own = sum(parameter.nbytes for parameter in model.parameters())
    weights = weights_of(layers_of(model)).values()
    pieces = (piece for weight in weights for piece in weight.pieces)
    return own + sum(stored_bytes(piece.scheme, piece.shape, piece.dtype.itemsize) for piece in pieces)


class Finisher:
    """Hands the weights of a layer to its kernels as soon as the last of them is written, so that few are held twice.

    Args:
        model: Its layers are finished.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._layers = layers_of(model)
        self._owners = {
            id(piece): layer for layer in self._layers for weight in layer.weights() for piece in weight.pieces
        }
        self._finished: set[int] = set()

    def wrote(self, weight: object) -> None:
        """A weight is whole."""
        layer = self._owners.get(id(weight))
        if layer is not None and not any(one.missing() for one in layer.weights()):
            self._finish(layer)

    def close(self) -> None:
        """Finishes the layers that are left.

        Raises:
            WeightsError: naming the weights that nobody wrote.
        """
        left = [layer for layer in self._layers if id(layer) not in self._finished]
        missing = [label for weight in weights_of(left).values() for label in weight.missing()]
        if missing:
            more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
            raise WeightsError(f"no tensor of the checkpoint fills {', '.join(missing[:SHOWN])}{more}")
        for layer in left:
            self._finish(layer)

    def _finish(self, layer: Layer) -> None:
        if id(layer) not in self._finished:
            self._finished.add(id(layer))
            layer.finish()


def finish(model: torch.nn.Module) -> None:
    """Hands every weight of a model to its kernel, once all are written.

    Raises:
        WeightsError: naming the weights that nobody wrote.
    """
    Finisher(model).close()
