"""A checkpoint as writers see it: tensors are read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from kernelet.config import ModelConfig
from kernelet.contracts.model import WeightReader
from kernelet.contracts.quant import ModulePatterns, QuantLayer
from kernelet.contracts.quantizing import CalibratedBlock, Progress, QuantizerSource
from kernelet.errors import ConfigError, UnsupportedModelError, WeightsError
from kernelet_quant_tools.folder import copy_files, write_config
from kernelet_quant_tools.shards import ShardWriter

Calibrate = Callable[["CheckpointSource"], Iterator[CalibratedBlock]]


class CheckpointSource(QuantizerSource):
    """An unquantized checkpoint.

    Args:
        model: The resolved model.
        layers: Its modules.
        reader: Its tensors.
        excluded: Modules that the user wants as they are.
        shard_bytes: Size of the files that ``save`` writes.
        calibrate: Computes the model block by block; None: no calibration was asked for.
    """

    def __init__(
        self,
        model: ModelConfig,
        layers: Sequence[QuantLayer],
        reader: WeightReader,
        excluded: ModulePatterns,
        shard_bytes: int,
        calibrate: Calibrate | None = None,
    ) -> None:
        self.model = model.model
        self.folder = Path(model.path)
        self.config = model.hf_config
        self.layers = layers
        self.tensors = tuple(reader.names())
        self.nbytes = reader.nbytes()
        self._reader = reader
        self._excluded = excluded
        self._shard_bytes = shard_bytes
        self._calibrate = calibrate
        self._changed: dict[str, Tensor] = {}
        self._written: set[str] = set()
        known = frozenset(self.tensors)
        for layer in layers:
            if f"{layer.name}.weight" not in known:
                raise UnsupportedModelError(
                    f"{layer.name}: {self.folder} holds no {layer.name}.weight; experts and other weights that are "
                    f"stored as one tensor cannot be quantized here"
                )

    def excluded(self, layer: QuantLayer) -> bool:
        return self._excluded.match(layer.name)

    def tensor(self, name: str) -> Tensor:
        if name in self._changed:
            return self._changed[name].clone()
        if name in self._written:
            raise WeightsError(f"{name} was changed for calibration, written and let go: read it before")
        return self._reader.read(name).clone()

    def blocks(self) -> Iterator[CalibratedBlock]:
        if self._calibrate is None:
            raise ConfigError("this writer is not offered as calibrated: its QuantizerOffer must say so")
        calibrate, self._calibrate = self._calibrate, _twice
        return calibrate(self)

    def change(self, name: str, tensor: Tensor) -> None:
        """From now on ``tensor`` gives this, in the checkpoint's dtype."""
        self._changed[name] = tensor.to(self._reader.read(name, slice(0, 1)).dtype)

    def save(
        self,
        folder: Path,
        made: Iterable[tuple[QuantLayer, Mapping[str, Tensor]]],
        quantization_config: Mapping[str, Any],
        progress: Progress,
    ) -> None:
        shards = ShardWriter(folder, self._shard_bytes)
        done: set[str] = set()
        for layer, tensors in made:
            for suffix, tensor in tensors.items():
                shards.add(f"{layer.name}.{suffix}", tensor.cpu())
            done.add(layer.name)
            self._let_go(f"{layer.name}.weight")
            progress(layer.name)
        quantized = {f"{name}.weight" for name in done}
        for name in self.tensors:
            if name not in quantized:
                shards.add(name, self.tensor(name))
        for layer in self.layers:
            if layer.name not in done:
                progress(layer.name)
        shards.close()
        copy_files(self.folder, folder)
        write_config(self.config, quantization_config, folder)

    def _let_go(self, name: str) -> None:
        if self._changed.pop(name, None) is not None:
            self._written.add(name)


def _twice(_: CheckpointSource) -> Iterator[CalibratedBlock]:
    raise ConfigError("blocks() can be gone through once: what comes later was computed with what was changed")
