from __future__ import annotations

import dataclasses

import pytest
import torch
from worker_doubles import TinyPlugins, engine_config

from kernelet.errors import ConfigError, UnsupportedModelError
from kernelet.worker.model import load_model

CPU = torch.device("cpu")


@pytest.fixture
def config(tmp_path):
    (tmp_path / "a.tiny").touch()
    return engine_config(tmp_path)


def changed(config, **values):
    return dataclasses.replace(config, model=dataclasses.replace(config.model, **values))


def test_model_is_built_and_filled(config):
    loaded = load_model(config, TinyPlugins(), CPU)
    context = loaded.model.context
    assert (context.dtype, context.device, context.block_size) == (torch.float64, CPU, 4)
    assert loaded.row == "tiny-row"
    assert loaded.weight_bytes == 0  # the double has no layers of the core
    assert len(loaded.model.attention_layers()) == 2
    assert [plan.name for plan in loaded.plans][-1] == "tiny"


def test_unknown_architecture(config):
    with pytest.raises(UnsupportedModelError, match="architecture Other; served are: Tiny"):
        load_model(changed(config, architecture="Other"), TinyPlugins(), CPU)


def test_unknown_dtype(config):
    with pytest.raises(ConfigError, match="int3"):
        load_model(changed(config, dtype="int3"), TinyPlugins(), CPU)
