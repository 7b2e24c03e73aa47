from __future__ import annotations

import dataclasses

import pytest

from kernelet.config import PluginsConfig


def test_unset_is_not_empty():
    assert PluginsConfig().allow is None
    assert PluginsConfig() != PluginsConfig(allow=())


def test_nothing_is_named():
    config = PluginsConfig()
    assert (config.block, config.platform, config.logits_processors) == ((), None, ())
    assert (dict(config.attention), dict(config.kernels), dict(config.settings)) == ({}, {}, {})
    assert config.settings is not PluginsConfig().settings


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PluginsConfig().platform = "x"
