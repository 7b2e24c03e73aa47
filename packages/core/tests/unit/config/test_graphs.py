from __future__ import annotations

import dataclasses

import pytest

from kernelet.config import GraphConfig


def test_defaults():
    config = GraphConfig()
    assert not config.enforce_eager
    assert config.max_capture_size == 256


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        GraphConfig().enforce_eager = True
