"""Loads a checkpoint into a model: every weight once, every tensor used or on the ignore list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernelet.contracts.model import Model, WeightReader
from kernelet.errors import WeightsError
from kernelet.loading.mapping import Target, WeightMap
from kernelet.loading.progress import Progress

SHOWN = 8


def fill(reader: WeightReader, weight_map: WeightMap) -> Iterator[str]:
    """Writes every tensor of a checkpoint to its weight; yields each name once it was consumed or skipped.

    Raises:
        WeightsError: at the end, naming what is missing and what nothing takes; at once for a wrong shape.
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
    for name in names:
        target = weight_map.targets.get(name)
        if target is not None:
            _write(reader, name, target)
        yield name


def _write(reader: WeightReader, name: str, target: Target) -> None:
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
