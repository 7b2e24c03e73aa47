"""Self-attention over the paged cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from acme_model.parts import Dense
from kernelet.contracts.attention import Attention, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.layers.context import ModelContext


class SelfAttention(nn.Module):
    """A layer with a cache: ``kernelet.contracts.model.AttentionLayer``.

    Attributes:
        name: Global name, by which the runner knows its cache.
        spec: What is asked of the attention that the runner selects and binds.
    """

    def __init__(self, context: ModelContext, name: str, hidden: int, heads: int, scale: float) -> None:
        super().__init__()
        self.name = name
        self.size = hidden // heads
        self.heads = heads
        self.op = context.ops.attention
        self.c_attn = Dense(context, f"{name}.c_attn", 3 * hidden, hidden)
        self.c_proj = Dense(context, f"{name}.c_proj", hidden, hidden)
        self.spec = AttentionSpec(
            kind="full",
            num_heads=heads,
            num_kv_heads=heads,
            head_size=self.size,
            dtype=context.dtype_name,
            block_size=context.block_size,
            scale=scale,
        )
        self.token_bytes = 2 * hidden * context.dtype.itemsize
        self.bound: tuple[Attention, Any, int] | None = None

    def cache_spec(self) -> FullAttentionSpec:
        """Keys and values of every token."""
        spec = self.spec
        return FullAttentionSpec(
            block_size=spec.block_size,
            page_bytes=spec.block_size * self.token_bytes,
            num_kv_heads=spec.num_kv_heads,
            head_size=spec.head_size,
            dtype=spec.dtype,
        )

    def bind(self, attention: Attention, cache: Any, group: int) -> None:
        """Called by the runner before the first step."""
        self.bound = (attention, cache, group)

    def forward(self, x: Tensor, steps: Mapping[int, Any]) -> Tensor:
        """[tokens, hidden] -> the same; ``steps`` is ``StepInputs.attention``."""
        if self.bound is None:
            raise RuntimeError(f"{self.name}: bind attention and cache before the first step")
        attention, cache, group = self.bound
        query, key, value = self.c_attn.forward(x).view(-1, 3, self.heads, self.size).unbind(1)
        attention.write_kv(key, value, cache, steps[group])
        mixed = self.op(query, attention, cache, steps[group], None)
        return self.c_proj.forward(mixed.flatten(1))
