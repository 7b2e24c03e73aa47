"""What every attention over a paged cache does alike: one or two tensors a layer, whose first axis is blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.attention import Attention
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.errors import ConfigError
from kernelet_platform_cpu.allocator import zeroed


class PagedAttention(Attention):
    """Copies blocks of a cache that ``zeroed_cache`` made."""

    def copy_blocks(self, cache: Any, sources: Sequence[int], destinations: Sequence[int]) -> None:
        for part in cache if isinstance(cache, tuple) else (cache,):
            part[list(destinations)] = part[list(sources)]


def zeroed_cache(spec: FullAttentionSpec, num_blocks: int, *block: int, dtype: torch.dtype) -> Tensor:
    """A cache [num_blocks, *block] of zeros.

    Raises:
        ConfigError: it is larger than the spec allows.
    """
    cache = zeroed((num_blocks, *block), dtype)
    if cache.nbytes > num_blocks * spec.page_bytes:
        raise ConfigError(
            f"a cache of {num_blocks} blocks takes {cache.nbytes} bytes, but its spec allows {spec.page_bytes} a block"
        )
    return cache
