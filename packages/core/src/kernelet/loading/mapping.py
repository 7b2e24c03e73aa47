"""From checkpoint names to weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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

    def write(self, source: str, value: Tensor, part: str | None = None, expert: int | None = None) -> None:
        """Copies a tensor; refuses what does not fit or was written before."""
        ...


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where a checkpoint tensor goes.

    Attributes:
        weight: The weight that it fills.
        part: Part of the weight; None: all parts, stacked in order.
        expert: Index of the expert; None: a plain weight, or all experts stacked.
        transform: Brings the tensor into our order first.
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

    def weights(self) -> Iterator[Sink]:
        """Every weight that some tensor fills, once."""
        seen: set[int] = set()
        for target in self.targets.values():
            if id(target.weight) not in seen:
                seen.add(id(target.weight))
                yield target.weight


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
    parts = len(weight.parts)

    def order(tensor: Tensor) -> Tensor:
        size = tensor.shape[0] // (heads * parts)
        rest = tensor.shape[1:]
        return tensor.view(heads, parts, size, *rest).transpose(0, 1).reshape(tensor.shape)

    return {source: Target(weight=weight, transform=order)}
