"""Loads a checkpoint into a model: every weight once, every tensor used or on the ignore list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass

from kernelet.contracts.model import Model, WeightReader
from kernelet.errors import WeightsError
from kernelet.loading.mapping import Sink, Target, WeightMap
from kernelet.loading.progress import Progress

SHOWN = 8


def fill(reader: WeightReader, weight_map: WeightMap, wrote: Callable[[Sink], None] | None = None) -> Iterator[str]:
    """Writes every tensor of a checkpoint to its weight; yields each name once it was consumed or skipped.

    Weights are filled one after the other, from the rows that this rank takes, where these are one range. What a kernel
    made of one at an earlier start, and the platform kept, takes the place of its tensors, which are then not read.

    Args:
        reader: The checkpoint.
        weight_map: Where its tensors go.
        wrote: Called when a weight is whole, e.g. ``kernelet.layers.weights.Finisher.wrote``.

    Raises:
        WeightsError: before anything is read, naming what is missing and what nothing takes; at once for a wrong shape.
    """
    names = reader.names()
    unknown = [name for name in names if name not in weight_map.targets and not weight_map.is_ignored(name)]
    if unknown:
        expected = sorted(weight_map.targets.keys() - set(names))
        hint = f"; missing are {_list(expected)}" if expected else ""
        raise WeightsError(
            f"nothing takes {_list(unknown)}{hint}; the checkpoint is of another architecture or version"
        )
    absent = _absent(names, weight_map)
    if absent:
        raise WeightsError(f"the checkpoint misses {_list(absent)}; fetch the model again")
    for weight, targets in weight_map.by_weight():
        content = _content(reader, targets)
        is_kept = content is not None and weight.recall(content)
        left = len(targets)
        for name, target in targets.items():
            if not is_kept:
                _write(reader, name, target)
            left -= 1
            if not left and wrote is not None:
                wrote(weight)
            yield name
    yield from (name for name in names if name not in weight_map.targets)


def _content(reader: WeightReader, targets: Mapping[str, Target]) -> str | None:
    """Names all that fills a weight; None: a part of it cannot be named without reading it."""
    parts = []
    for name, target in targets.items():
        identity = reader.identity(name)
        if identity is None or not (target.transform is None or is_dataclass(target.transform)):
            return None
        parts.append((target.part, target.expert, target.transform, identity))
    return repr(parts)


def _write(reader: WeightReader, name: str, target: Target) -> None:
    rows = None if target.transform is not None else target.weight.rows(target.part, target.expert)
    if rows is not None and (whole := reader.shape(name)):
        target.weight.write(name, reader.read(name, rows), target.part, target.expert, whole)
        return
    value = reader.read(name)
    if target.transform is not None:
        expected = sum(part.full for part in target.weight.parts.values())
        if value.shape[:1] == (expected,):
            value = target.transform(value)
    target.weight.write(name, value, target.part, target.expert)


def _absent(names: Sequence[str], weight_map: WeightMap) -> list[str]:
    return sorted(weight_map.targets.keys() - set(names))


def load(model: Model, reader: WeightReader, progress: Progress | None = None) -> None:
    """Loads a model's weights, showing progress in bytes on a terminal.

    Args:
        model: Its ``load_weights`` is run to the end.
        reader: The checkpoint.
        progress: Where progress is shown; None: a bar on standard error, if that is a terminal.

    Raises:
        WeightsError: see ``fill``.
    """
    with progress or Progress("loading weights", reader.nbytes()) as bar:
        for name in model.load_weights(reader):
            bar.advance(reader.nbytes(name))


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
