"""From checkpoint names to weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor

from kernelet.errors import WeightsError


class Extent(Protocol):
    """Length of a part over all ranks."""

    @property
    def full(self) -> int: ...


class Sink(Protocol):
    """What a checkpoint tensor is written to: ``kernelet.layers.weights.Weight``."""

    @property
    def name(self) -> str: ...

    @property
    def parts(self) -> Mapping[str, Extent]:
        """Parts of the output axis, in order."""
        ...

    def piece(self, part: str | None = None) -> Sink:
        """What is written and recalled on its own: all of it, or the parts that are stored as this one is."""
        ...

    def stored(self, source: str, names: Container[str] = ()) -> Mapping[str, str]:
        """What a checkpoint that holds ``names`` has in the place of a tensor; empty: the tensor itself."""
        ...

    def recall(self, content: str) -> bool:
        """Whether what was made of this content before is there, so that nothing is left to write."""
        ...

    def rows(self, part: str | None = None, expert: int | None = None) -> slice | None:
        """Rows of a tensor that are taken; None: all, or not one range of them."""
        ...

    def write(
        self,
        source: str,
        value: Tensor,
        part: str | None = None,
        expert: int | None = None,
        whole: tuple[int, ...] | None = None,
    ) -> None:
        """Takes a tensor, or only its ``rows``, of the shape ``whole``; refuses what does not fit or came before."""
        ...

    def write_stored(
        self,
        source: str,
        tensors: Mapping[str, Tensor],
        part: str | None = None,
        expert: int | None = None,
        transform: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        """Takes the tensors of ``stored``; refuses what does not fit or came before."""
        ...


@dataclass(frozen=True)
class HeadOrder:
    """Brings an output axis [heads, parts, size] into the order [parts, heads, size].

    Attributes:
        heads: Number of heads.
        parts: Number of parts of each.
    """

    heads: int
    parts: int

    def __call__(self, tensor: Tensor) -> Tensor:
        size, rest = tensor.shape[0] // (self.heads * self.parts), tensor.shape[1:]
        return tensor.view(self.heads, self.parts, size, *rest).transpose(0, 1).reshape(tensor.shape)


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where a checkpoint tensor goes.

    Attributes:
        weight: The weight that it fills.
        part: Part of the weight; None: all parts, stacked in order.
        expert: Index of the expert; None: a plain weight, or all experts stacked.
        transform: Brings the tensor into our order first; where it is quantized, the numbers of its rows. What was
            made of it is kept between starts where its representation says all about it, as that of a dataclass does.
    """

    weight: Sink
    part: str | None = None
    expert: int | None = None
    transform: Callable[[Tensor], Tensor] | None = None


@dataclass(frozen=True, kw_only=True)
class WeightMap:
    """All that a checkpoint may hold.

    Attributes:
        targets: By checkpoint name.
        ignored: Reasons by regular expression; a tensor whose whole name matches is skipped.
    """

    targets: Mapping[str, Target]
    ignored: Mapping[str, str] = field(default_factory=dict)

    def is_ignored(self, name: str) -> bool:
        """Whether a tensor is on the ignore list."""
        return any(re.fullmatch(pattern, name) for pattern in self.ignored)

    def by_weight(self) -> Iterator[tuple[Sink, dict[str, Target]]]:
        """Every piece of a weight that some tensor fills, once and in order, with the names of what fills it."""
        groups: dict[int, tuple[Sink, dict[str, Target]]] = {}
        for name, target in self.targets.items():
            piece = target.weight.piece(target.part)
            groups.setdefault(id(piece), (piece, {}))[1][name] = target
        yield from groups.values()


def plain(weight: Sink, source: str) -> dict[str, Target]:
    """One tensor, one weight (all parts stacked where it has several)."""
    return {source: Target(weight=weight)}


def split(weight: Sink, sources: Sequence[str]) -> dict[str, Target]:
    """A tensor a part, in the order of the parts.

    Raises:
        ValueError: if the numbers differ.
    """
    parts = zip(sources, weight.parts, strict=True)
    return {source: Target(weight=weight, part=part) for source, part in parts}


def interleaved(weight: Sink, source: str, heads: int) -> dict[str, Target]:
    """One tensor whose output axis is [heads, parts, size] instead of [parts, heads, size].

    Raises:
        WeightsError: if the parts are not of equal size.
    """
    if len({part.full for part in weight.parts.values()}) > 1:
        raise WeightsError(f"{source} cannot hold the parts of {weight.name} head by head: they differ in size")
    return {source: Target(weight=weight, transform=HeadOrder(heads, len(weight.parts)))}
