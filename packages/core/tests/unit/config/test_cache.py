from __future__ import annotations

import dataclasses

import pytest

from kernelet.config import CacheConfig


def test_defaults():
    config = CacheConfig()
    assert (config.block_size, config.num_blocks, config.memory_bytes) == (16, None, None)
    assert 0 < config.memory_utilization <= 1
    assert config.enable_prefix_caching
    assert config.eviction_policy is None


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        CacheConfig().block_size = 32
    assert dataclasses.replace(CacheConfig(), block_size=32) == CacheConfig(block_size=32)
