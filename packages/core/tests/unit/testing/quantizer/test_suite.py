from __future__ import annotations

import torch
from kit import run_suites

from kernelet.contracts.offer import Settings
from kernelet.testing.quantization.layers import model_config
from kernelet.testing.quantization.reference import PLAIN4, Plain4, store_plain4
from kernelet.testing.quantizer.faults import suite_of
from kernelet.testing.quantizer.reference import Plain4Writer
from kernelet.testing.quantizer.source import RandomSource
from kernelet.testing.quantizer.suite import contents, read_with


def test_a_right_writer_passes(tmp_path):
    listener = run_suites([suite_of(Plain4Writer)], tmp_path)
    assert not listener.messages
    assert min(listener.passed.values()) >= 9


def test_what_is_read_is_what_was_stored(tmp_path):
    source = RandomSource()
    Plain4Writer(Settings(plugin="p")).write(source, tmp_path, lambda _: None)
    assert sorted(contents(tmp_path)) == ["config.json", "model.safetensors"]
    found = read_with(lambda config: Plain4(Settings(plugin="p"), config, model_config(PLAIN4, config)))(tmp_path)
    assert set(found) == set(source.tensors)
    for layer in source.layers[1:8]:
        weight = source.values[f"{layer.name}.weight"]
        assert torch.equal(found[f"{layer.name}.weight"].double(), store_plain4(layer, weight)[1])
    assert torch.equal(found["lm_head.weight"], source.values["lm_head.weight"])
