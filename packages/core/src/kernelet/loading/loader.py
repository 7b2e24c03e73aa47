"""Loads a checkpoint into a model: every weight once, every tensor used or on the ignore list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass

from kernelet.contracts.model import Model, WeightReader
from kernelet.errors import WeightsError
from kernelet.loading.mapping import Sink, Target, WeightMap
from kernelet.loading.mismatch import BIAS, WEIGHT, Sources, mismatch, sources_of
from kernelet.loading.progress import Progress


def fill(reader: WeightReader, weight_map: WeightMap, wrote: Callable[[Sink], None] | None = None) -> Iterator[str]:
    """Writes every tensor of a checkpoint to its weight; yields each name once it was consumed or skipped.

    Weights are filled one after the other, from the rows that this rank takes, where these are one range; quantized
    modules from all tensors that the checkpoint has in the place of their weight. What a kernel made of one at an
    earlier start, and the platform kept, takes the place of its tensors, which are then not read. A bias of zeros adds
    nothing: a module that has none may have one in the checkpoint.

    Args:
        reader: The checkpoint.
        weight_map: Where its tensors go.
        wrote: Called when a weight is whole, e.g. ``kernelet.layers.weights.Finisher.wrote``.

    Raises:
        WeightsError: before anything is read, naming what is missing and what nothing takes; at once for a wrong shape.
    """
    names = reader.names()
    sources = sources_of(weight_map, names)
    needed = [name for name in names if not _adds_nothing(reader, weight_map, name)]
    if wrong := mismatch(weight_map, sources, needed):
        raise WeightsError(wrong)
    for weight, targets in weight_map.by_weight():
        content = _content(reader, targets, sources)
        is_kept = content is not None and weight.recall(content)
        left = len(targets)
        for name, target in targets.items():
            if not is_kept:
                _write(reader, weight, name, target, sources[name])
            left -= 1
            if not left and wrote is not None:
                wrote(weight)
            yield from sources[name].values()
    taken = {name for each in sources.values() for name in each.values()}
    yield from (name for name in names if name not in taken)


def _adds_nothing(reader: WeightReader, weight_map: WeightMap, name: str) -> bool:
    """A bias of zeros for a module that has none, as some writers of quantized checkpoints give to each."""
    module = name.removesuffix(BIAS)
    is_spare = module != name and name not in weight_map.targets and f"{module}{WEIGHT}" in weight_map.targets
    return is_spare and not bool(reader.read(name).any())


def _content(reader: WeightReader, targets: Mapping[str, Target], sources: Sources) -> str | None:
    """Names all that fills a weight; None: a part of it cannot be named without reading it."""
    parts = []
    for name, target in targets.items():
        identities = {last: reader.identity(tensor) for last, tensor in sources[name].items()}
        if None in identities.values() or not (target.transform is None or is_dataclass(target.transform)):
            return None
        parts.append((target.part, target.expert, target.transform, identities.get("", identities)))
    return repr(parts)


def _write(reader: WeightReader, weight: Sink, name: str, target: Target, source: Mapping[str, str]) -> None:
    if "" not in source:
        tensors = {last: reader.read(tensor) for last, tensor in source.items()}
        weight.write_stored(name, tensors, target.part, target.expert, target.transform)
        return
    rows = None if target.transform is not None else weight.rows(target.part, target.expert)
    if rows is not None and (whole := reader.shape(name)):
        weight.write(name, reader.read(name, rows), target.part, target.expert, whole)
        return
    value = reader.read(name)
    if target.transform is not None:
        expected = sum(part.full for part in weight.parts.values())
        if value.shape[:1] == (expected,):
            value = target.transform(value)
    weight.write(name, value, target.part, target.expert)


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
