"""The KV cache."""

from __future__ import annotations

from dataclasses import dataclass

AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class CacheConfig:
    """Size and behaviour of the KV cache.

    Attributes:
        block_size: Tokens a block.
        num_blocks: Blocks of each group, the null block included; None sizes them from memory.
        memory_bytes: Bytes for the cache; None takes ``memory_utilization`` of what is left.
        memory_utilization: Share of the memory left after weights and activations.
        enable_prefix_caching: Reuse blocks of equal prefixes.
        eviction_policy: Name of a cache-policy offer; None takes the best.
        dtype: Name of a KV cache offer; ``AUTO``: keys and values are kept in the dtype of the model.
    """

    block_size: int = 16
    num_blocks: int | None = None
    memory_bytes: int | None = None
    memory_utilization: float = 0.5
    enable_prefix_caching: bool = True
    eviction_policy: str | None = None
    dtype: str = AUTO
