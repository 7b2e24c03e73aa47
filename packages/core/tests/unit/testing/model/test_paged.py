from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from tiny_reference import tiny_logits

from kernelet.loading.loader import load
from kernelet.loading.safetensors import SafetensorsReader
from kernelet.testing.model.paged import PagedRun, all_logits
from kernelet.testing.tensors import make_context
from kernelet.testing.tiny import tiny_config, write_checkpoint
from kernelet.testing.tiny.model import TinyModel

CONFIG = tiny_config(layer_types=["sliding_attention", "full_attention"], sliding_window=5)
SEQUENCES = [np.random.default_rng(length).integers(0, 211, length).tolist() for length in (17, 3, 11)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_checkpoint(tmp_path_factory.mktemp("tiny"), **CONFIG)


@pytest.fixture(scope="module")
def model(folder):
    made = TinyModel(make_context(CONFIG, dtype=torch.float64))
    load(made, SafetensorsReader(folder))
    return made


@pytest.mark.parametrize("chunk, prompts", [(17, None), (4, None), (6, [8, 1, 11])])
def test_every_way_of_cutting_has_the_logits_of_the_formulas(folder, model, chunk, prompts):
    tensors = load_file(folder / "model.safetensors")
    for ids, logits in zip(SEQUENCES, all_logits(model, SEQUENCES, chunk=chunk, prompts=prompts), strict=True):
        assert np.abs(logits.numpy() - tiny_logits(tensors, CONFIG, ids)).max() < 1e-5


def test_a_step_is_laid_out_as_the_worker_does(model):
    run = PagedRun(model, 2, 16)
    run.step({0: [1, 2, 3, 4, 5, 6, 7, 8, 9]})
    assert run.lengths == [9, 0]
    inputs = run.inputs({0: [5], 1: [6, 7]}, taps=frozenset({"x"}))
    assert inputs.token_ids.tolist() == [5, 6, 7]
    assert inputs.positions.tolist() == [9, 0, 1]
    assert inputs.taps == {"x"}
    sliding, full = inputs.attention[0], inputs.attention[1]
    assert full.query_start_loc.tolist() == [0, 1, 3]
    assert full.seq_lens.tolist() == [10, 2]
    assert full.slot_mapping[0] == full.block_table[0, 2] * 4 + 1
    assert sliding.block_table[0, 0] == 0, "blocks before the window are dropped"
    assert 0 not in full.block_table
    assert run.lengths == [9, 0], "only step() counts"


def test_blocks_are_nobody_elses(model):
    tables = PagedRun(model, 3, 16)._tables
    for table in tables:
        assert sorted(table.flatten().tolist()) == list(range(1, 13))
    assert tables[0].flatten().tolist() != sorted(tables[0].flatten().tolist())
