from __future__ import annotations

import dataclasses

import pytest

from kernelet.config import ParallelConfig


def test_one_rank_unless_asked():
    assert ParallelConfig() == ParallelConfig(tensor_parallel_size=1, executor=None)


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ParallelConfig().tensor_parallel_size = 2
