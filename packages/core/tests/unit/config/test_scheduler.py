from __future__ import annotations

import dataclasses

import pytest

from kernelet.config import SchedulerConfig


def test_defaults():
    config = SchedulerConfig()
    assert config.max_num_seqs <= config.max_num_batched_tokens, "every request may decode in one step"
    assert (config.policy, config.depth) == (None, 1)


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SchedulerConfig().depth = 2
