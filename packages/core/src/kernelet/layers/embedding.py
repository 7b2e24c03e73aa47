"""The token embedding and the output head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from kernelet.errors import UnsupportedModelError
from kernelet.layers.context import ModelContext
from kernelet.layers.dtypes import dtype_name, wide
from kernelet.layers.kernels import Use
from kernelet.layers.served import ServedWeight
from kernelet.layers.weights import Layer, Shard, Weight


class Embedding(Layer):
    """A table of rows, which ranks share: each looks up its own, and the others' are zero in the sum over ranks.

    Attributes:
        shard: This rank's rows.
        served: How the table is stored, and its kernel.
        scale: Factor of the rows, first rounded to the model's dtype where ``round_scale`` says so.
    """

    makes_logits = False

    def __init__(
        self,
        context: ModelContext,
        name: str,
        rows: int,
        size: int,
        *,
        scale: float = 1.0,
        round_scale: bool = False,
    ) -> None:
        super().__init__(name)
        self.parallel = context.parallel
        self.shard = Shard.even(context, rows, f"{name} (vocabulary)")
        tied, outputs, inputs = self.makes_logits, {"": self.shard}, Shard.whole(size)
        use = Use(name=name, role="embedding", outputs=outputs, inputs=inputs, head=tied, tied=tied)
        self.served = ServedWeight(context, use)
        self.weight, self.kernel = self.served.weight, self.served.kernel
        self.dtype = context.dtype
        self.scale = float(torch.tensor(scale, dtype=context.dtype)) if round_scale else scale
        self.prepared: Any = None

    def weights(self) -> Sequence[Weight]:
        return [self.weight]

    def finish(self) -> None:
        self.prepared = self.served.prepare()

    def forward(self, ids: Tensor) -> Tensor:
        """int64 [tokens] -> [tokens, size], in the model's dtype, or wide where the kernel gives another."""
        rows = self._shared_rows(ids)
        if rows.dtype is not self.dtype:
            rows = rows.to(wide(self.dtype))
        return rows if self.scale == 1.0 else rows * self.scale

    def rows(self, ids: Tensor) -> Tensor:
        """Rows of this rank's part of the table, before the scale."""
        return self.kernel.apply(ids, self.prepared, None)

    def _shared_rows(self, ids: Tensor) -> Tensor:
        if self.parallel.size == 1:
            return self.rows(ids)
        mine = (ids >= self.shard.start) & (ids < self.shard.start + self.shard.size)
        rows = self.rows(torch.where(mine, ids - self.shard.start, 0))
        return self.parallel.sum(torch.where(mine.unsqueeze(-1), rows, 0))


class Head(Layer):
    """States to logits: ``scale * (states @ weight.T + bias)``, then the soft cap.

    Ranks share the vocabulary; logits are gathered on the first, which samples. A tied head has no weight of its own: a
    ``TiedEmbedding`` gives it its table.

    Attributes:
        served: How the weight is stored, and its kernel.
        scale: Factor of the logits.
        soft_cap: ``cap * tanh(logits / cap)``; None: no cap.
    """

    def __init__(
        self,
        context: ModelContext,
        name: str,
        rows: int,
        size: int,
        *,
        bias: bool = False,
        scale: float = 1.0,
        soft_cap: float | None = None,
        tied: bool = False,
    ) -> None:
        super().__init__(name)
        self.parallel = context.parallel
        self.shard = Shard.even(context, rows, f"{name} (vocabulary)")
        outputs, inputs = {"": self.shard}, Shard.whole(size)
        use = Use(name=name, role="linear", outputs=outputs, inputs=inputs, head=True, tied=tied)
        self.served = ServedWeight(context, use)
        self.weight = None if tied else self.served.weight
        self.kernel = self.served.kernel
        self.bias_weight = Weight(context, f"{name}.bias", {"": self.shard}) if bias else None
        self.scale = scale
        self.soft_cap = soft_cap
        self.prepared: Any = None
        self.bias: Tensor | None = None

    def weights(self) -> Sequence[Weight]:
        return [weight for weight in (self.weight, self.bias_weight) if weight is not None]

    def finish(self) -> None:
        if self.weight is not None:
            self.prepared = self.served.prepare()
        if self.bias_weight is not None:
            self.bias = self.bias_weight.take()

    def forward(self, states: Tensor) -> Tensor:
        """[rows, size] -> [rows, vocab]; no rows on other ranks than the first."""
        logits = self.parallel.gather(self.kernel.apply(states, self.prepared, self.bias))
        if self.scale != 1.0:
            logits = logits * self.scale
        if self.soft_cap is None:
            return logits
        capped = torch.tanh(logits.to(wide(logits.dtype)) / self.soft_cap) * self.soft_cap
        return capped.to(logits.dtype)


class TiedEmbedding(Embedding):
    """An embedding whose table is the head's weight too.

    It is held once where the head's kernel reads rows of what it made of all of the table, or where both kernels keep
    it as it is.
    """

    head: Head | None = None
    makes_logits = True

    def tie(self, head: Head) -> None:
        """Names the head that shares the table.

        Raises:
            UnsupportedModelError: they are to be stored differently.
        """
        ours, theirs = self.served.scheme, head.served.scheme
        if ours != theirs:
            raise UnsupportedModelError(
                f"{self.name} and {head.name} are one weight, and are to be stored differently: {ours.describe()} and "
                f"{theirs.describe()}. Quantize both or none"
            )
        object.__setattr__(self, "head", head)  # not a child: the model owns it
        self.weight.kept = head.served.weight.kept if self.reads_head else None

    @property
    def reads_head(self) -> bool:
        """Whether rows are read from the head's weight, and there is no other table."""
        head = self.head
        return head is not None and head.kernel.has_rows(dtype_name(self.dtype))

    def finish(self) -> None:
        if self.head is None:
            super().finish()
        elif self.reads_head:
            self.head.prepared = self.weight.prepare(self.head.served.groups[0])
        else:
            tensors = self.weight.canonical(self.served.groups[0])
            self.prepared = self.kernel.prepare(tensors)
            self.head.prepared = self.head.kernel.prepare(tensors)

    def rows(self, ids: Tensor) -> Tensor:
        """Rows of this rank's part of the table, before the scale."""
        if self.head is not None and self.reads_head:
            return self.head.kernel.rows(ids, self.head.prepared)
        return super().rows(ids)
