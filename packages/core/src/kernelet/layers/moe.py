"""Mixture of experts: the router's choice, and the experts' weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from torch import Tensor

from kernelet.layers.blocks import share_blocks
from kernelet.layers.context import ModelContext
from kernelet.layers.dtypes import wide
from kernelet.layers.kept import Kept
from kernelet.layers.kernels import Part, serve
from kernelet.layers.linear import Linear, ReplicatedLinear
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
        share = Shard.even(context, middle, name)
        both = {"gate": share, "up": share}
        up_name, down_name = f"{name}.gate_up_proj", f"{name}.down_proj"
        self.gate_up = Weight(context, f"{up_name}.weight", both, Shard.whole(hidden), num_experts)
        self.down = Weight(context, f"{down_name}.weight", {"": Shard.whole(hidden)}, share, num_experts)
        gate, up, down = sources or (f"{name}.{{expert}}.{part}_proj" for part in ("gate", "up", "down"))
        modules = list(_parts(num_experts, [(gate, share), (up, share)]))
        shape = (num_experts, 2 * share.size, hidden)
        self.up_served = serve(context, up_name, "grouped_linear", shape, hidden, modules)
        modules = list(_parts(num_experts, [(down, Shard.whole(hidden))]))
        shape = (num_experts, hidden, share.size)
        self.down_served = serve(context, down_name, "grouped_linear", shape, middle, modules)
        share_blocks(context, up_name, self.up_served.scheme, both.values(), Shard.whole(hidden))
        share_blocks(context, down_name, self.down_served.scheme, [Shard.whole(hidden)], share)
        self.up_kernel, self.down_kernel = self.up_served.kernel, self.down_served.kernel
        self.gate_up.scheme, self.down.scheme = self.up_served.scheme, self.down_served.scheme
        self.gate_up.kept, self.down.kept = Kept(context, self.up_served), Kept(context, self.down_served)
        self.prepared_up: Any = None
        self.prepared_down: Any = None

    def weights(self) -> Sequence[Weight]:
        return [self.gate_up, self.down]

    def finish(self) -> None:
        self.prepared_up = self.gate_up.prepare(self.up_served.prepare)
        self.prepared_down = self.down.prepare(self.down_served.prepare)

    def forward(self, x: Tensor, expert: int) -> Tensor:
        """[rows, hidden] -> this rank's part of the sum, [rows, hidden], for rows of one expert."""
        gated = self.ops.act_and_mul(self.up_kernel.apply_grouped(x, self.prepared_up, expert), self.activation)
        return self.down_kernel.apply_grouped(gated, self.prepared_down, expert)


def _parts(num_experts: int, sources: Sequence[tuple[str, Shard]]) -> Iterator[Part]:
    for expert in range(num_experts):
        for source, shard in sources:
            yield Part(name=source.format(expert=expert), outputs=shard.full, rows=shard.size)


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
