"""What a model is constructed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from kernelet.config import ModelConfig
from kernelet.contracts.executor import Communicator, LayerPlan
from kernelet.contracts.op import PackedWeights
from kernelet.contracts.plugins import PluginView
from kernelet.contracts.quant import QuantizationMethod
from kernelet.errors import ConfigError
from kernelet.layers.dtypes import dtype_name
from kernelet.layers.ops import OpTable


class UnevenError(ConfigError):
    """A size of the model cannot be divided over the ranks."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """A size that ranks share; see ``TensorParallel.share``."""

    total: int
    what: str
    unit: int = 1
    repeats: bool = False

    def fits(self, size: int) -> bool:
        """Whether so many ranks can share it."""
        if self.repeats and size > self.total:
            return size % self.total == 0
        return size == 1 or self.total % (size * self.unit) == 0

    def __str__(self) -> str:
        groups = f" in groups of {self.unit}" if self.unit > 1 else ""
        return f"{self.what}: {self.total}{groups}"


@dataclass(frozen=True, kw_only=True)
class TensorParallel:
    """The ranks that share each layer, and which one this is."""

    rank: int
    size: int
    communicator: Communicator | None = None

    def share(self, total: int, what: str, *, unit: int = 1, repeats: bool = False) -> int:
        """This rank's part of a size that all ranks share evenly.

        Args:
            total: Over all ranks.
            what: What is divided, for people.
            unit: What is not cut: parts are multiples of it, where there are several.
            repeats: With fewer than ranks, several ranks hold the same.

        Raises:
            UnevenError: if it does not divide.
        """
        need = Need(total=total, what=what, unit=unit, repeats=repeats)
        if not need.fits(self.size):
            raise UnevenError(f"{need} cannot be divided over {self.size} tensor-parallel ranks")
        return max(1, total // self.size)

    def sum(self, x: torch.Tensor) -> torch.Tensor:
        """Sum over ranks."""
        if self.communicator is None:
            return x
        summed: torch.Tensor = self.communicator.all_reduce(x)
        return summed

    def gather(self, x: torch.Tensor) -> torch.Tensor:
        """Concatenation of the last axis over ranks, on rank 0; the others get no rows."""
        if self.communicator is None:
            return x
        gathered: torch.Tensor = self.communicator.all_gather(x, axis=-1)
        return gathered if self.rank == 0 else gathered[:0]


SINGLE_RANK = TensorParallel(rank=0, size=1)


@dataclass(frozen=True, kw_only=True)
class Recording(TensorParallel):
    """One rank, which notes what more of them would share."""

    needs: list[Need] = field(default_factory=list)

    def share(self, total: int, what: str, *, unit: int = 1, repeats: bool = False) -> int:
        self.needs.append(Need(total=total, what=what, unit=unit, repeats=repeats))
        return super().share(total, what, unit=unit, repeats=repeats)

    def sizes(self) -> list[int]:
        """Numbers of ranks that can share all of it."""
        most = min((need.total for need in self.needs if not need.repeats), default=1)
        return [size for size in range(1, most + 1) if all(need.fits(size) for need in self.needs)]

    def advice(self) -> str:
        """What an operator can do."""
        return f"Sizes that work for this model: --tensor-parallel-size {', '.join(map(str, self.sizes()))}"


@dataclass(kw_only=True)
class ModelContext:
    """Everything a model needs to build itself on one rank.

    Attributes:
        config: The resolved model.
        dtype: Compute dtype.
        device: Where weights live: what ``torch.device`` takes.
        ops: The ops that were selected; layers keep the ones they call.
        plugins: Where layers select their weight kernels.
        parallel: Tensor-parallel state.
        block_size: Tokens a block of the cache.
        packed: Where prepared weights are kept between starts; None: nowhere.
        layer_plans: Each layer appends what it selected and why the others were refused.
        quantization: Says how weights are stored; None: as they are computed with.
    """

    config: ModelConfig
    dtype: torch.dtype
    device: Any
    ops: OpTable
    plugins: PluginView
    parallel: TensorParallel = SINGLE_RANK
    block_size: int = 16
    packed: PackedWeights | None = None
    layer_plans: list[LayerPlan] = field(default_factory=list)
    quantization: QuantizationMethod | None = None

    @property
    def dtype_name(self) -> str:
        """The compute dtype as plugins name it."""
        return dtype_name(self.dtype)

    def record(
        self, name: str, role: str, choice: str, detail: str = "", refused: Mapping[str, str] | None = None
    ) -> None:
        """Appends to the plan how a layer is computed."""
        plan = LayerPlan(name=name, role=role, choice=choice, detail=detail, refused=dict(refused or {}))
        self.layer_plans.append(plan)
