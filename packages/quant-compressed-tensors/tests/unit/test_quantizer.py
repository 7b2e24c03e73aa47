from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file

from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import QuantizerOffer, QuantLayer, QuantOffer
from kernelet.errors import ConfigError, UnsupportedModelError, WeightsError
from kernelet.testing.offered import find_offer
from kernelet.testing.quantization.methods import method_of
from kernelet.testing.quantization.tensors import worst_row
from kernelet.testing.quantizer import RandomSource
from kernelet.testing.weight_kernel.reference import dequantize

PLUGIN = "kernelet_quant_compressed_tensors.plugin"
KEPT = "model.layers.1.mlp.down_proj"
PLAIN = (KEPT, "lm_head")


def writer(**options):
    found = find_offer(PLUGIN, QuantizerOffer, "int8")
    values = {key: option.default for key, option in found.offer.options.items()} | options
    return found.target(Settings(plugin="quant-compressed-tensors", values=values))


@pytest.mark.parametrize(
    "options, said, inputs",
    [
        ({}, "int-quantized", "dynamic"),
        ({"activations": "none"}, "pack-quantized", None),
        ({"activations": "none", "group_size": 64}, "pack-quantized", None),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_written_is_read(tmp_path, options, said, inputs, dtype):
    source, done = RandomSource(dtype, excluded=[KEPT]), []
    writer(**options).write(source, tmp_path, done.append)
    config = json.loads((tmp_path / "config.json").read_text())["quantization_config"]
    assert config["format"] == said
    found = find_offer(PLUGIN, QuantOffer, "compressed-tensors")
    method = method_of(found, config)
    tensors = load_file(tmp_path / "model.safetensors")
    for layer in source.layers:
        scheme = method.scheme(layer)
        weight = source.tensor(f"{layer.name}.weight")
        assert (scheme is not None) == (layer.name in done) == (layer.role == "linear" and layer.name not in PLAIN)
        if scheme is None:
            assert torch.equal(tensors[f"{layer.name}.weight"], weight)
            continue
        assert scheme.activation == inputs
        assert scheme.scales[0].block == (1, options.get("group_size", 0))
        stored = {last: tensors[f"{layer.name}.{last}"] for last in method.stored(layer)}
        exact = dequantize(method.canonical(layer, stored), scheme)
        assert 0 < worst_row(exact, weight) < 0.02
    assert list(method.unused()) == []


def test_a_tied_head_is_named():
    source = RandomSource()
    table = QuantLayer(name="embed", role="embedding", shape=(8, 8), dtype="float32", head=True, tied=True)
    source.layers = (table, *source.layers[1:-1])
    config = writer().configuration(source, {layer.name for layer in source.layers[1:]})
    assert config["ignore"] == ["lm_head"]


def test_what_cannot_be():
    with pytest.raises(ConfigError, match="group_size is -1; it must be 0"):
        writer(activations="none", group_size=-1)
    with pytest.raises(ConfigError, match="group_size: where inputs are int8"):
        writer(group_size=32)
    source = RandomSource()
    with pytest.raises(UnsupportedModelError, match=r"q_proj has 128 inputs, which are no groups of 48"):
        writer(activations="none", group_size=48).write(source, source.folder, print)
    excluded = RandomSource(excluded=[layer.name for layer in source.layers])
    with pytest.raises(UnsupportedModelError, match="random: nothing is left to quantize"):
        writer().write(excluded, source.folder, print)


def test_a_damaged_weight_is_named(tmp_path):
    source = RandomSource()
    source.values[f"{KEPT}.weight"][1, 2] = torch.inf
    with pytest.raises(WeightsError, match=r"model\.layers\.1\.mlp\.down_proj: its weight has values"):
        writer().write(source, tmp_path, lambda _: None)
