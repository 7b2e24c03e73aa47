"""Linear layers, by how they are spread over ranks. Weights are [out, in]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from kernelet.layers.context import ModelContext
from kernelet.layers.kernels import Use
from kernelet.layers.served import ServedWeight
from kernelet.layers.weights import Layer, Shard, Weight


class Linear(Layer):
    """``x @ weight.T + bias`` with the kernel that was selected for the weight.

    Attributes:
        served: How the weight is stored, and its kernel.
        weight: What a checkpoint fills.
        kernel: Computes with the weight.
        prepared: What the kernel made of the weight; None before ``finish``.
        bias: [out] or None.
    """

    def __init__(
        self,
        context: ModelContext,
        name: str,
        *,
        outputs: Mapping[str, Shard],
        inputs: Shard,
        bias: bool = False,
        sources: Sequence[str] = (),
        router: bool = False,
    ) -> None:
        """Selects the kernel.

        Args:
            context: The model's context.
            name: Global name.
            outputs: Parts of the output axis, by name.
            inputs: Input axis.
            bias: It has a bias.
            sources: Names of the modules that hold the parts in checkpoints; empty: one module of the layer's name.
            router: It chooses experts.
        """
        super().__init__(name)
        use = Use(name=name, role="linear", outputs=outputs, inputs=inputs, sources=sources, router=router)
        self.served = ServedWeight(context, use)
        self.weight, self.kernel = self.served.weight, self.served.kernel
        self.bias_weight = Weight(context, f"{name}.bias", dict(outputs)) if bias else None
        self.prepared: Any = None
        self.bias: Tensor | None = None

    def weights(self) -> Sequence[Weight]:
        return [self.weight] if self.bias_weight is None else [self.weight, self.bias_weight]

    def finish(self) -> None:
        self.prepared = self.served.prepare()
        self.kernel = self.served.kernel
        if self.bias_weight is not None:
            self.bias = self.bias_weight.take()

    def forward(self, x: Tensor) -> Tensor:
        """[rows, in] -> [rows, out]."""
        return self.kernel.apply(x, self.prepared, self.bias)


class ReplicatedLinear(Linear):
    """Every rank holds all of it."""

    def __init__(
        self,
        context: ModelContext,
        name: str,
        inputs: int,
        outputs: int,
        *,
        bias: bool = False,
        router: bool = False,
    ) -> None:
        whole = {"": Shard.whole(outputs)}
        super().__init__(context, name, outputs=whole, inputs=Shard.whole(inputs), bias=bias, router=router)


class ColumnParallelLinear(Linear):
    """Ranks share the outputs; each computes its own part from the whole input."""

    def __init__(self, context: ModelContext, name: str, inputs: int, outputs: int, *, bias: bool = False) -> None:
        super().__init__(
            context, name, outputs={"": Shard.even(context, outputs, name)}, inputs=Shard.whole(inputs), bias=bias
        )


class MergedLinear(Linear):
    """Several column-parallel layers of one input, computed as one; checkpoints may hold them apart or fused.

    Args:
        parts: Outputs of each over all ranks, by name, in order.
        sources: Names of their modules in checkpoints, in the same order, or of one that holds them all.
    """

    def __init__(
        self,
        context: ModelContext,
        name: str,
        inputs: int,
        parts: Mapping[str, int],
        *,
        bias: bool = False,
        sources: Sequence[str] = (),
    ) -> None:
        outputs = {part: Shard.even(context, size, f"{name} ({part})") for part, size in parts.items()}
        super().__init__(context, name, outputs=outputs, inputs=Shard.whole(inputs), bias=bias, sources=sources)


class QKVLinear(Linear):
    """Query, key and value projections as one, parts ``q``, ``k``, ``v``. Ranks share heads.

    With fewer key and value heads than ranks, several ranks hold the same head.

    Attributes:
        num_heads: Query heads of this rank.
        num_kv_heads: Key and value heads of this rank.
    """

    def __init__(
        self,
        context: ModelContext,
        name: str,
        inputs: int,
        *,
        num_heads: int,
        num_kv_heads: int,
        head_size: int,
        bias: bool = False,
        sources: Sequence[str] = (),
    ) -> None:
        query = Shard.even(context, num_heads, f"{name} (query heads)")
        key = kv_head_shard(context, num_kv_heads, name)
        outputs = {
            part: Shard(heads.full * head_size, heads.start * head_size, heads.size * head_size, shared=True)
            for part, heads in (("q", query), ("k", key), ("v", key))
        }
        super().__init__(context, name, outputs=outputs, inputs=Shard.whole(inputs), bias=bias, sources=sources)
        self.num_heads = query.size
        self.num_kv_heads = key.size


def kv_head_shard(context: ModelContext, num_kv_heads: int, what: str) -> Shard:
    """Key and value heads of this rank."""
    parallel = context.parallel
    size = parallel.share(num_kv_heads, f"{what} (key and value heads)", repeats=True)
    return Shard(num_kv_heads, parallel.rank * num_kv_heads // parallel.size, size, shared=True)


class RowParallelLinear(Linear):
    """Ranks share the inputs; results are summed over ranks, and the bias is added once, after the sum."""

    def __init__(self, context: ModelContext, name: str, inputs: int, outputs: int, *, bias: bool = False) -> None:
        super().__init__(
            context, name, outputs={"": Shard.whole(outputs)}, inputs=Shard.even(context, inputs, name), bias=bias
        )
        self.parallel = context.parallel

    def forward(self, x: Tensor) -> Tensor:
        """[rows, in of this rank] -> [rows, out], the same on all ranks."""
        if self.parallel.size == 1:
            return self.kernel.apply(x, self.prepared, self.bias)
        total = self.parallel.sum(self.kernel.apply(x, self.prepared, None))
        return total if self.bias is None else total + self.bias
