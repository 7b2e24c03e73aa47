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
from kernelet.layers.dtypes import dtype_name
from kernelet.layers.ops import OpTable


@dataclass(frozen=True, kw_only=True)
class TensorParallel:
    """The ranks that share each layer, and which one this is."""

    rank: int
    size: int
    communicator: Communicator | None = None

    def share(self, total: int, what: str) -> int:
        """This rank's part of a size that all ranks share evenly.

        Raises:
            ValueError: if it does not divide.
        """
        if total % self.size:
            raise ValueError(f"{what}: {total} cannot be divided over {self.size} tensor-parallel ranks")
        return total // self.size

    def sum(self, x: torch.Tensor) -> torch.Tensor:
        """Sum over ranks."""
        if self.communicator is None:
            return x
        summed: torch.Tensor = self.communicator.all_reduce(x)
        return summed

    def gather(self, x: torch.Tensor) -> torch.Tensor:
        """Concatenation of the last axis over ranks."""
        if self.communicator is None:
            return x
        gathered: torch.Tensor = self.communicator.all_gather(x, axis=-1)
        return gathered


SINGLE_RANK = TensorParallel(rank=0, size=1)


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
