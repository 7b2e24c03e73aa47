from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file

from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import QuantizerOffer, QuantOffer
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet.testing.offered import find_offer
from kernelet.testing.quantization.methods import method_of
from kernelet.testing.quantization.tensors import worst_row
from kernelet.testing.quantizer import RandomSource
from kernelet.testing.weight_kernel.reference import dequantize

PLUGIN = "kernelet_quant_fp8.plugin"
KEPT = "model.layers.1.mlp.down_proj"
PLAIN = (KEPT, "lm_head")


def writer(**options):
    found = find_offer(PLUGIN, QuantizerOffer, "fp8")
    values = {key: option.default for key, option in found.offer.options.items()} | options
    return found.target(Settings(plugin="quant-fp8", values=values))


@pytest.mark.parametrize("scales, name", [("block", "weight_scale_inv"), ("tensor", "weight_scale")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_written_is_read(tmp_path, scales, name, dtype):
    source, done = RandomSource(dtype, excluded=[KEPT]), []
    writer(scales=scales).write(source, tmp_path, done.append)
    config = json.loads((tmp_path / "config.json").read_text())["quantization_config"]
    assert config["weight_block_size"] == ([128, 128] if scales == "block" else None)
    found = find_offer(PLUGIN, QuantOffer, "fp8")
    method = method_of(found, config)
    tensors = load_file(tmp_path / "model.safetensors")
    for layer in source.layers:
        scheme = method.scheme(layer)
        weight = source.tensor(f"{layer.name}.weight")
        assert (scheme is not None) == (layer.name in done) == (layer.role == "linear" and layer.name not in PLAIN)
        if scheme is None:
            assert torch.equal(tensors[f"{layer.name}.weight"], weight)
            continue
        stored = {last: tensors[f"{layer.name}.{last}"] for last in ("weight", name)}
        exact = dequantize(method.canonical(layer, stored), scheme)
        assert 0 < worst_row(exact, weight) < 0.05
    assert list(method.unused()) == []


def test_nothing_left():
    source = RandomSource()
    with pytest.raises(UnsupportedModelError, match="random: nothing is left to quantize"):
        writer().write(RandomSource(excluded=[layer.name for layer in source.layers]), source.folder, print)


def test_a_damaged_weight_is_named(tmp_path):
    source = RandomSource()
    source.values[f"{KEPT}.weight"][1, 2] = torch.nan
    with pytest.raises(WeightsError, match=r"model\.layers\.1\.mlp\.down_proj: its weight has values"):
        writer().write(source, tmp_path, lambda _: None)
