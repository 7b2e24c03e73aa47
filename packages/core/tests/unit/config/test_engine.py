from __future__ import annotations

import dataclasses
import pickle

import pytest

from kernelet import config
from kernelet.config import CacheConfig, EngineConfig, ModelConfig, ParallelConfig, PluginsConfig, SchedulerConfig

MODEL = ModelConfig(
    model="m",
    path="/m",
    architecture="A",
    hf_config={"a": [1]},
    dtype="float32",
    vocab_size=10,
    max_model_len=100,
    num_layers=1,
)


def test_defaults_of_every_section():
    assert EngineConfig(model=MODEL) == EngineConfig(
        model=MODEL,
        cache=CacheConfig(),
        scheduler=SchedulerConfig(),
        parallel=ParallelConfig(),
        plugins=PluginsConfig(),
    )


def test_every_section_is_public():
    sections = {field.type for field in dataclasses.fields(EngineConfig)} | {"EngineConfig"}
    assert set(config.__all__) == sections


def test_it_reaches_other_processes():
    one = EngineConfig(model=MODEL, plugins=PluginsConfig(settings={"p": {"threads": 2}}))
    assert pickle.loads(pickle.dumps(one)) == one


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        EngineConfig(model=MODEL).cache = CacheConfig(block_size=1)
