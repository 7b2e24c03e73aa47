from __future__ import annotations

import json
import logging

import plain_writers
import pytest
import safetensors.torch

from kernelet.errors import ConfigError, PluginError, SelectionError, UnsupportedModelError, WeightsError
from kernelet_quant_tools.quantize import quantize


@pytest.fixture
def run(parse):
    """Quantizes a model into a folder; returns the line about it."""

    def run(model, name, out, *arguments):
        return quantize(*parse(model, "--format", name, "--out", out, *arguments))

    return run


def test_every_module_but_the_excluded_ones(run, llama, tmp_path, caplog):
    out = tmp_path / "out"
    with caplog.at_level(logging.WARNING, "kernelet"):
        line = run(llama, "plain", out, "--exclude", "layers.0,up_proj", "--exclude", "no.such")
    assert line.startswith(f"{out}: plain, ")
    names = set(safetensors.torch.load_file(out / "model.safetensors"))
    assert {name for name in names if name.endswith(".packed")} == {
        f"model.layers.1.{name}.packed"
        for name in (*(f"self_attn.{one}_proj" for one in "qkvo"), "mlp.gate_proj", "mlp.down_proj")
    }
    assert "model.layers.1.mlp.up_proj.weight" in names
    assert "model.layers.1.mlp.down_proj.weight" not in names
    assert "--exclude no.such matches no module" in caplog.text
    assert "layers.0" not in caplog.text


def test_calibrated_formats_get_the_text(run, llama, tmp_path, text_file):
    text = ("--calibration", text_file, "--samples", "4", "--seq-len", "50")
    run(llama, "calibrated", tmp_path / "out", *text, "--set", "quant-tools.sample_rows=7")
    seen = plain_writers.CalibratedWriter.seen
    assert [inputs.tokens for _, inputs in seen] == [200] * 8
    assert all(len(inputs.sample) == 7 for _, inputs in seen)
    assert json.loads((tmp_path / "out/config.json").read_text())["quantization_config"]["quant_method"] == "plain4"


def test_a_text_for_a_format_that_looks_at_none(run, llama, tmp_path, text_file):
    with pytest.raises(ConfigError, match=r"^--calibration: the format plain looks at no text: leave it out"):
        run(llama, "plain", tmp_path / "out", "--calibration", text_file)
    assert not (tmp_path / "out").exists()


def test_files_are_cut_at_a_size(run, qwen, tmp_path):
    run(qwen, "plain", tmp_path / "out", "--set", "quant-tools.shard_mb=1")
    single = safetensors.torch.load_file(tmp_path / "out" / "model.safetensors")
    assert sum(one.nbytes for one in single.values()) < 10**6
    assert (tmp_path / "out" / "tokenizer.json").is_file()


def test_experts_are_rounded_and_not_calibrated(run, mixtral, tmp_path, text_file):
    run(mixtral, "plain", tmp_path / "out")
    names = set(safetensors.torch.load_file(tmp_path / "out" / "model.safetensors"))
    assert any(".experts.1." in name and name.endswith(".packed") for name in names)
    with pytest.raises(UnsupportedModelError, match=r"experts.*choose a format that needs no calibration"):
        run(mixtral, "calibrated", tmp_path / "no", "--calibration", text_file, "--samples", 2, "--seq-len", 20)
    assert not (tmp_path / "no").exists()


def test_a_model_that_is_quantized_already(run, llama, tmp_path):
    run(llama, "plain", tmp_path / "once")
    with pytest.raises(ConfigError, match="is quantized already, with 'plain4': take the original"):
        run(tmp_path / "once", "plain", tmp_path / "twice")


def test_nothing_is_left_of_what_fails(run, llama, tmp_path):
    for name, further, error, message in (
        ("failing", (), ConfigError, "no room left"),
        ("silent", (), PluginError, "the writer of silent wrote nothing"),
        ("unsaid", (), ConfigError, "its QuantizerOffer must say so"),
        ("calibrated", ("--calibration", tmp_path / "none.txt"), ConfigError, r"none\.txt: it cannot be read"),
        ("calibrated", ("--seq-len", 129), ConfigError, "--seq-len 129: the model was made for 128 tokens"),
        ("calibrated", ("--calibration", llama / "config.json"), ConfigError, "tokens, and a piece is of 128"),
        ("plain", ("--exclude", "re:("), ConfigError, r"--exclude: 're:\('"),
        ("plain", ("--option", "bits=x"), ConfigError, "expected a whole number"),
        ("nope", (), SelectionError, "no plugin that runs here writes it"),
    ):
        with pytest.raises(error, match=message):
            run(llama, name, tmp_path / "out", *further)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_free_is_refused_before_the_model_is_looked_for(run, tmp_path):
    (tmp_path / "a").write_text("x")
    with pytest.raises(ConfigError, match="is not empty"):
        run("no/such/model", "plain", tmp_path)


def test_a_damaged_weight_is_named(run, llama, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in llama.iterdir():
        (broken / path.name).write_bytes(path.read_bytes())
    tensors = safetensors.torch.load_file(broken / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    safetensors.torch.save_file(tensors, broken / "model.safetensors", {"format": "pt"})
    with pytest.raises((WeightsError, UnsupportedModelError), match=r"model\.layers\.1\.mlp\.up_proj"):
        run(broken, "plain", tmp_path / "out")
