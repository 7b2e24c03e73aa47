from __future__ import annotations

import dataclasses

import pytest

from kernelet.config import ModelConfig

FIELDS = {
    "model": "m",
    "path": "/m",
    "architecture": "A",
    "hf_config": {"secret": "long"},
    "dtype": "float32",
    "vocab_size": 10,
    "max_model_len": 100,
    "num_layers": 1,
}


def test_frozen_with_defaults():
    config = ModelConfig(**FIELDS)
    assert (config.seed, config.load_format) == (0, "auto")
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.dtype = "float16"


def test_the_checkpoints_configuration_is_not_printed():
    assert "secret" not in repr(ModelConfig(**FIELDS))


@pytest.mark.parametrize("name", FIELDS)
def test_nothing_is_assumed(name):
    with pytest.raises(TypeError, match=name):
        ModelConfig(**{key: value for key, value in FIELDS.items() if key != name})
