from __future__ import annotations

import json

import pytest
import safetensors.torch
import torch
from quantize_models import source_of

from kernelet.errors import ConfigError, UnsupportedModelError, WeightsError


def stored(folder):
    return safetensors.torch.load_file(folder / "model.safetensors")


def test_tensors_are_copies_of_the_checkpoints(llama):
    source, expected = source_of(llama), stored(llama)
    assert set(source.tensors) == set(expected)
    assert source.nbytes == sum(tensor.nbytes for tensor in expected.values())
    for name, tensor in expected.items():
        assert torch.equal(source.tensor(name), tensor)
    source.tensor("model.norm.weight").zero_()
    assert torch.equal(source.tensor("model.norm.weight"), expected["model.norm.weight"])
    with pytest.raises(WeightsError, match=r"no\.such"):
        source.tensor("no.such")


def test_what_is_changed_has_the_checkpoints_dtype(llama):
    source = source_of(llama)
    source.change("model.norm.weight", torch.ones(128, dtype=torch.float64))
    assert torch.equal(source.tensor("model.norm.weight"), torch.ones(128))


def test_save_writes_what_was_made_and_all_else(llama, tmp_path):
    source, done, config = source_of(llama), [], {"quant_method": "x"}
    chosen = source.layers[:3]

    def made():
        for layer in chosen:
            source.change(f"{layer.name}.weight", torch.ones(layer.shape))
            yield layer, {"bits": torch.zeros(2, dtype=torch.uint8), "scales": torch.ones(layer.shape).T}
            config.setdefault("done", []).append(layer.name)

    source.save(tmp_path, made(), config, done.append)
    found, expected = stored(tmp_path), stored(llama)
    for layer in chosen:
        assert torch.equal(found.pop(f"{layer.name}.bits"), torch.zeros(2, dtype=torch.uint8))
        assert found.pop(f"{layer.name}.scales").shape == layer.shape[::-1]
        del expected[f"{layer.name}.weight"]
        with pytest.raises(WeightsError, match="was changed for calibration, written and let go"):
            source.tensor(f"{layer.name}.weight")
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
    assert sorted(done) == sorted(layer.name for layer in source.layers)
    written = json.loads((tmp_path / "config.json").read_text())["quantization_config"]
    assert written == {"quant_method": "x", "done": [layer.name for layer in chosen]}
    assert (tmp_path / "tokenizer.json").read_bytes() == (llama / "tokenizer.json").read_bytes()


def test_a_module_without_a_weight_is_named(llama):
    with pytest.raises(UnsupportedModelError, match=r"mlp\.experts: .* holds no mlp\.experts\.weight"):
        source_of(llama, "mlp.experts")


def test_blocks_are_gone_through_once(llama):
    source = source_of(llama)
    next(source.blocks())
    with pytest.raises(ConfigError, match="once"):
        source.blocks()
    source._calibrate = None
    with pytest.raises(ConfigError, match="not offered as calibrated"):
        source.blocks()
