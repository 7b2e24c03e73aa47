"""The format of docs/plugins/quant.md: what its writer writes, its method reads."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import KVCacheLayer, KVCacheOffer, KVCacheScheme, QuantOffer
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet.testing.quantization.layers import layers, model_config
from kernelet.testing.quantizer import RandomSource
from kernelet.testing.weight_kernel.reference import dequantize

NOTHING = Settings(plugin="p")


def test_quantization_method(example):
    plugin = example("quant")
    config = {"quant_method": "ternary", "modules_to_not_convert": ["layers.1", "visual"]}
    method = plugin.load("method").Ternary(NOTHING, config, model_config("ternary", config))
    layer, skipped, head = layers()[0], layers()[7], layers()[-1]
    assert method.scheme(skipped) is method.scheme(head) is None
    assert method.unused() == ("visual",)
    signs = torch.randint(-1, 2, layer.shape, dtype=torch.int8)
    sizes = torch.rand(layer.shape[0])
    assert tuple(method.stored(layer)) == ("signs", "sizes")
    found = method.canonical(layer, {"signs": signs, "sizes": sizes})
    assert torch.equal(dequantize(found, method.scheme(layer)), signs.double() * sizes.double()[:, None])
    for wrong in ({"signs": signs}, {"signs": signs * 2, "sizes": sizes}, {"signs": signs[:, 1:], "sizes": sizes}):
        with pytest.raises(WeightsError, match=layer.name):
            method.canonical(layer, wrong)
    with pytest.raises(UnsupportedModelError, match="bits"):
        plugin.load("method").Ternary(NOTHING, {**config, "bits": 2}, model_config("ternary", config))
    (owned,) = plugin.boot().offers(QuantOffer)
    assert owned.offer.names == ("ternary",)


def test_kv_cache_method(example):
    plugin = example("quant")
    (owned,) = plugin.boot().offers(KVCacheOffer)
    assert owned.offer.target.endswith("caches:HalfInt8")
    method = plugin.load("caches").HalfInt8(NOTHING, model_config("", None))
    layer = KVCacheLayer(name="model.layers.0.self_attn", num_kv_heads=2, head_size=64, dtype="bfloat16")
    assert method.scheme(layer) == KVCacheScheme(element="int8", scales="token_head")
    assert method.scheme(replace(layer, window=64)) is None


def test_quantizer(example, tmp_path):
    plugin = example("quant")
    source = RandomSource(excluded=["model.layers.0.mlp.up_proj"])
    plugin.load("writer").TernaryWriter(NOTHING).write(source, tmp_path, lambda _: None)
    config = json.loads((tmp_path / "config.json").read_text())["quantization_config"]
    assert "model.layers.0.mlp.up_proj" in config["modules_to_not_convert"]
    method = plugin.load("method").Ternary(NOTHING, config, model_config("ternary", config))
    for layer in source.layers:
        if (scheme := method.scheme(layer)) is None:
            assert torch.equal(source.written[f"{layer.name}.weight"], source.tensor(f"{layer.name}.weight"))
            continue
        weight = source.tensor(f"{layer.name}.weight")
        stored = {suffix: source.written[f"{layer.name}.{suffix}"] for suffix in method.stored(layer)}
        found = dequantize(method.canonical(layer, stored), scheme)
        assert (found - weight).norm() < 0.6 * weight.norm()
