from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.errors import WeightsError
from kernelet.testing.quantization.reference import PLAIN4, store_plain4
from kernelet.testing.quantizer.reference import Plain4Writer, pack
from kernelet.testing.quantizer.source import RandomSource


def test_heads_and_excluded_modules_stay():
    source, writer = RandomSource(excluded=["model.layers.0.mlp.up_proj"]), Plain4Writer(Settings(plugin="p"))
    skipped = ["model.embed_tokens", "model.layers.0.mlp.up_proj", "lm_head"]
    assert writer.config(source) == {"quant_method": PLAIN4, "skip": skipped}
    made = {layer.name: tensors for layer, tensors in writer.made(source)}
    assert set(made) == {layer.name for layer in source.layers} - set(skipped)
    assert all(tensors.keys() == {"packed", "scales"} for tensors in made.values())


def test_it_packs_as_the_format_says():
    layer = RandomSource().layers[2]
    for columns in (64, 70):
        weight = torch.randn(9, columns, generator=torch.Generator().manual_seed(columns)) * 0.1
        weight[3] = 0
        expected, _ = store_plain4(layer, weight)
        found = pack(weight)
        assert all(torch.equal(found[name], expected[name]) for name in ("packed", "scales"))


def test_damage_is_named():
    source = RandomSource()
    source.values["model.layers.0.self_attn.k_proj.weight"][0, 0] = torch.inf
    with pytest.raises(WeightsError, match=r"model\.layers\.0\.self_attn\.k_proj"):
        list(Plain4Writer(Settings(plugin="p")).made(source))
