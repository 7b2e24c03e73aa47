"""The attention layer: projections, rotation, cache, and the attention that the runner binds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from kernelet.contracts.attention import Attention, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec, SlidingWindowSpec
from kernelet.layers.context import ModelContext
from kernelet.layers.linear import QKVLinear, RowParallelLinear
from kernelet.layers.norm import Norm
from kernelet.layers.rotary import RopeRows
from kernelet.layers.step import Step
from kernelet.layers.weights import Layer, Shard, Weight


@dataclass(frozen=True, eq=False, kw_only=True)
class QKVHeads:
    """How queries, keys and values lie in the output of their projection, and what happens to them first.

    Attributes:
        num_heads: Query heads of this rank.
        num_kv_heads: Key and value heads of this rank.
        head_size: Size of a head.
        q_norm: Norm of queries: over each head, or over all of them where its weight is that long; None for none.
        k_norm: Norm of keys; there if and only if ``q_norm`` is.
        clip: All three are clamped to [-clip, clip] first; None for no clamp.
        whole: Norms are over all heads together.
    """

    num_heads: int
    num_kv_heads: int
    head_size: int
    q_norm: Norm | None = None
    k_norm: Norm | None = None
    clip: float | None = None
    whole: bool = False


class LayerWatch(ABC):
    """Is told when layers use their pages. Whatever computes a layer at once, in its place, calls it too."""

    @abstractmethod
    def before(self, layer: str) -> None:
        """The layer is going to read and write its pages."""

    @abstractmethod
    def after(self, layer: str) -> None:
        """It has written this step's keys and values."""


class AttentionLayer(Layer):
    """Self-attention of one decoder layer over its part of the cache.

    ``write_kv`` comes first, then attention reads the cache only, also what the same step wrote.

    Attributes:
        spec: What is asked of the attention that the runner binds.
        heads: See ``QKVHeads``.
        rope: Name of the rotary embedding in ``Step.ropes``; None for a layer without.
        bound: What ``bind`` was given; None before.
        watch: Is told of each step; None: nobody is.
    """

    def __init__(
        self,
        context: ModelContext,
        name: str,
        *,
        qkv: QKVLinear,
        output: RowParallelLinear,
        heads: QKVHeads,
        scale: float,
        rope: str | None,
        window: int | None = None,
        soft_cap: float | None = None,
        sinks: str | None = None,
    ) -> None:
        """Makes the layer.

        Args:
            context: The model's context.
            name: Global name.
            qkv: Projection to queries, keys and values.
            output: Projection back.
            heads: What lies in the output of ``qkv``.
            scale: Factor of q.k.
            rope: Name of the rotary embedding.
            window: Tokens that are seen, itself included; None: all.
            soft_cap: Soft cap of the scores.
            sinks: Global name of the learned logits that join the softmax; None for none.
        """
        super().__init__(name)
        self.ops = context.ops
        self.qkv = qkv
        self.output = output
        self.heads = heads
        self.q_norm, self.k_norm = heads.q_norm, heads.k_norm
        self.rope = rope
        shard = Shard.even(context, heads.num_heads * context.parallel.size, name)
        self.sink_weight = Weight(context, sinks, {"": shard}) if sinks else None
        self.sinks: Tensor | None = None
        self.spec = AttentionSpec(
            kind="full" if window is None else "sliding",
            num_heads=heads.num_heads,
            num_kv_heads=heads.num_kv_heads,
            head_size=heads.head_size,
            dtype=context.dtype_name,
            block_size=context.block_size,
            scale=scale,
            window=window,
            soft_cap=soft_cap,
            sinks=sinks is not None,
        )
        self._page_bytes = 2 * context.block_size * heads.num_kv_heads * heads.head_size * context.dtype.itemsize
        self.bound: tuple[Attention, Any, int] | None = None
        self.watch: LayerWatch | None = None

    def weights(self) -> list[Weight]:
        return [self.sink_weight] if self.sink_weight else []

    def finish(self) -> None:
        if self.sink_weight:
            self.sinks = self.sink_weight.take()

    def cache_spec(self) -> FullAttentionSpec:
        """What the layer keeps between steps."""
        spec = self.spec
        common = {
            "block_size": spec.block_size,
            "page_bytes": self._page_bytes,
            "num_kv_heads": spec.num_kv_heads,
            "head_size": spec.head_size,
        }
        if spec.window is None:
            return FullAttentionSpec(**common, dtype=spec.dtype)
        return SlidingWindowSpec(**common, dtype=spec.dtype, window=spec.window)

    def bind(self, attention: Attention, cache: Any, group: int) -> None:
        """Gives the layer its attention, its cache, and the index of its group in ``Step.attention``."""
        self.bound = (attention, cache, group)

    def forward(self, x: Tensor, step: Step) -> Tensor:
        """[tokens, hidden] -> [tokens, hidden]."""
        if self.bound is None:
            raise RuntimeError(f"{self.name}: bind attention and cache before the first step")
        attention, cache, group = self.bound
        metadata = step.attention[group]
        rope: RopeRows | None = None if self.rope is None else step.ropes[self.rope]
        qkv = self.qkv.forward(x)
        if self.watch is not None:
            self.watch.before(self.name)
        query = self.ops.qkv_rope_write(qkv, self.heads, rope, attention, cache, metadata)
        mixed = self.ops.attention(query, attention, cache, metadata, self.sinks)
        if self.watch is not None:
            self.watch.after(self.name)
        return self.output.forward(mixed.flatten(1))


def make_heads(
    qkv: QKVLinear, head_size: int, norms: tuple[Norm, Norm] | None, *, whole: bool, clip: float | None
) -> QKVHeads:
    """Heads of a projection."""
    q_norm, k_norm = norms or (None, None)
    return QKVHeads(
        num_heads=qkv.num_heads,
        num_kv_heads=qkv.num_kv_heads,
        head_size=head_size,
        q_norm=q_norm,
        k_norm=k_norm,
        clip=clip,
        whole=whole,
    )
