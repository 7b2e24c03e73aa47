"""Mixture of experts: the router's choice, and the experts' weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from torch import Tensor

from kernelet.layers.context import ModelContext
from kernelet.layers.dtypes import wide
from kernelet.layers.kernels import Use
from kernelet.layers.linear import Linear, ReplicatedLinear
from kernelet.layers.served import ServedWeight
from kernelet.layers.weights import Layer, Shard, Weight


def _softmax_then_top_k(scores: Tensor, top_k: int) -> tuple[Tensor, Tensor]:
    weights, ids = scores.softmax(-1).topk(top_k, -1)
    return weights, ids


def _top_k_then_softmax(scores: Tensor, top_k: int) -> tuple[Tensor, Tensor]:
    weights, ids = scores.topk(top_k, -1)
    return weights.softmax(-1), ids


ROUTERS: Mapping[str, Callable[[Tensor, int], tuple[Tensor, Tensor]]] = MappingProxyType(
    {"softmax_top_k": _softmax_then_top_k, "top_k_softmax": _top_k_then_softmax}
)
"""Order of softmax and choice, by name. With the choice first, the weights of a token add up to one."""


@dataclass(frozen=True, kw_only=True)
class Routing:
    """How the router's logits become weights.

    Attributes:
        router: One of ``ROUTERS``.
        top_k: Experts a token.
        scale: Factor of the weights.
    """

    router: str
    top_k: int
    scale: float = 1.0

    def choose(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """[rows, experts] -> weights in the wide dtype and ids, both [rows, top_k]."""
        weights, ids = ROUTERS[self.router](logits.to(wide(logits.dtype)), self.top_k)
        return (weights if self.scale == 1.0 else weights * self.scale), ids


class Experts(Layer):
    """Gated feed-forward networks, one an expert; ranks share the middle axis of each.

    Attributes:
        num_experts: Number of experts.
        gate_up: What a checkpoint fills, parts ``gate`` and ``up``.
        down: What a checkpoint fills.
    """

    def __init__(
        self,
        context: ModelContext,
        name: str,
        *,
        num_experts: int,
        hidden: int,
        middle: int,
        activation: str,
        sources: Sequence[str] = (),
    ) -> None:
        """Selects the kernels.

        Args:
            context: The model's context.
            name: Global name.
            num_experts: Number of experts.
            hidden: Width of the residual stream.
            middle: Width of each expert.
            activation: Name of the activation.
            sources: Names that checkpoints have for gate, up and down, with ``{expert}``.
        """
        super().__init__(name)
        self.num_experts = num_experts
        self.ops = context.ops
        self.activation = activation
        share, whole = Shard.even(context, middle, name), Shard.whole(hidden)
        gate, up, down = sources or (f"{name}.{{expert}}.{part}_proj" for part in ("gate", "up", "down"))
        self.up_served = ServedWeight(
            context,
            Use(
                name=f"{name}.gate_up_proj",
                role="grouped_linear",
                outputs={"gate": share, "up": share},
                inputs=whole,
                sources=(gate, up),
                experts=num_experts,
            ),
        )
        self.down_served = ServedWeight(
            context,
            Use(
                name=f"{name}.down_proj",
                role="grouped_linear",
                outputs={"": whole},
                inputs=share,
                sources=(down,),
                experts=num_experts,
            ),
        )
        self.gate_up, self.down = self.up_served.weight, self.down_served.weight
        self.up_kernel, self.down_kernel = self.up_served.kernel, self.down_served.kernel
        self.prepared_up: Any = None
        self.prepared_down: Any = None

    def weights(self) -> Sequence[Weight]:
        return [self.gate_up, self.down]

    def finish(self) -> None:
        self.prepared_up = self.up_served.prepare()
        self.prepared_down = self.down_served.prepare()
        self.up_kernel, self.down_kernel = self.up_served.kernel, self.down_served.kernel

    def forward(self, x: Tensor, expert: int) -> Tensor:
        """[rows, hidden] -> this rank's part of the sum, [rows, hidden], for rows of one expert."""
        gated = self.ops.act_and_mul(self.up_kernel.apply_grouped(x, self.prepared_up, expert), self.activation)
        return self.down_kernel.apply_grouped(gated, self.prepared_down, expert)


class MixtureOfExperts(Layer):
    """A router and its experts, in the place of a feed-forward network."""

    def __init__(
        self, context: ModelContext, name: str, *, router: ReplicatedLinear, experts: Experts, routing: Routing
    ) -> None:
        super().__init__(name)
        self.ops = context.ops
        self.parallel = context.parallel
        self.router: Linear = router
        self.experts = experts
        self.routing = routing

    def forward(self, x: Tensor) -> Tensor:
        """[rows, hidden] -> [rows, hidden]."""
        mixed = self.ops.moe(x, self.router.forward(x), self.experts, self.routing)
        return self.parallel.sum(mixed)
