from __future__ import annotations

import pytest
import torch

from kernelet.contracts.cache import FullAttentionSpec
from kernelet.errors import ConfigError
from kernelet_platform_cpu.attention.paged import zeroed_cache

SPEC = FullAttentionSpec(block_size=4, num_kv_heads=2, head_size=3, dtype="bfloat16", page_bytes=96)


def test_a_cache_is_zeroed_and_of_the_spec():
    cache = zeroed_cache(SPEC, 5, 2, 2, 4, 3, dtype=torch.bfloat16)
    assert (cache.shape, cache.dtype) == ((5, 2, 2, 4, 3), torch.bfloat16)
    assert cache.nbytes == 5 * SPEC.page_bytes
    assert not cache.any()


def test_a_cache_that_is_larger_than_the_spec_allows():
    with pytest.raises(ConfigError, match="but its spec allows 96 a block"):
        zeroed_cache(SPEC, 5, 2, 2, 4, 4, dtype=torch.bfloat16)
