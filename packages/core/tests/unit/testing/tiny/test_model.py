from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from tiny_reference import tiny_logits

from kernelet.contracts.model import StepInputs
from kernelet.errors import ConfigError, WeightsError
from kernelet.loading.loader import load
from kernelet.loading.safetensors import SafetensorsReader
from kernelet.testing.model.paged import PagedRun
from kernelet.testing.tensors import make_context
from kernelet.testing.tiny import tiny_config, write_checkpoint
from kernelet.testing.tiny.model import TinyModel

KINDS = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 5}


def make(folder, **changes):
    model = TinyModel(make_context(tiny_config(**changes), dtype=torch.float64))
    load(model, SafetensorsReader(folder))
    return model


@pytest.mark.parametrize("changes", [{}, KINDS], ids=["full", "sliding"])
def test_logits_are_those_of_the_formulas(tmp_path, changes):
    folder = write_checkpoint(tmp_path, **changes)
    ids = np.random.default_rng(1).integers(0, 211, 23).tolist()
    found = PagedRun(make(folder, **changes), 1, 23).step({0: ids})[0]
    truth = tiny_logits(load_file(folder / "model.safetensors"), tiny_config(**changes), ids)
    assert np.abs(found.numpy() - truth).max() < 1e-5  # the tables of angles are float32
    assert np.abs(truth).max() > 1


def test_a_tensor_that_is_missing_is_named(tmp_path):
    folder = write_checkpoint(tmp_path)
    model = TinyModel(make_context(tiny_config(layer_types=["full_attention"] * 3)))
    with pytest.raises(WeightsError, match=r"layers\.2\."):
        load(model, SafetensorsReader(folder))


def test_a_step_needs_ids_or_embeddings(tmp_path):
    model = make(write_checkpoint(tmp_path))
    with pytest.raises(ConfigError, match="token ids or embeddings"):
        model.forward(StepInputs(token_ids=None, positions=torch.arange(1), attention={}))
