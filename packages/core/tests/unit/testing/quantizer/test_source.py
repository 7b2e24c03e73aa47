from __future__ import annotations

import json

import pytest
import safetensors.torch
import torch

from kernelet.contracts.quantizing import InputGroup
from kernelet.errors import WeightsError
from kernelet.testing.quantizer.source import LAYERS, TOKENS, RandomSource, statistics


def test_the_same_seed_makes_the_same():
    one, other, another = RandomSource(), RandomSource(), RandomSource(seed=1)
    assert all(torch.equal(one.tensor(name), other.tensor(name)) for name in one.tensors)
    assert not torch.equal(one.tensor("lm_head.weight"), another.tensor("lm_head.weight"))
    assert {f"{layer.name}.weight" for layer in one.layers} < set(one.tensors)
    with pytest.raises(WeightsError, match=r"no\.such"):
        one.tensor("no.such")


def test_blocks_have_each_layer_once():
    source = RandomSource()
    blocks = list(source.blocks())
    names = [name for block in blocks for group in block.groups for name in group.modules]
    assert sorted(names) == sorted(layer.name for block in blocks for layer in block.layers)
    assert len(blocks) == LAYERS
    assert set(names) == {layer.name for layer in source.layers} - {"model.embed_tokens", "lm_head"}


def test_inputs_of_one_group_are_one():
    block = next(RandomSource().blocks())
    computed = block.computed()
    for group in block.groups:
        assert all(computed[name] is computed[group.modules[0]] for name in group.modules)
        found = block.inputs(group)
        assert found.tokens == TOKENS
        assert torch.allclose(found.second_moment.diagonal(), computed[group.modules[0]].square().mean(0))


def test_statistics_are_those_of_numpy():
    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(1))
    found = statistics(x, 8)
    outer = sum(torch.outer(row, row) for row in x) / 50
    assert torch.allclose(found.second_moment, outer, atol=1e-6)
    assert torch.allclose(found.mean_magnitude, sum(row.abs() for row in x) / 50)
    assert torch.equal(found.largest, torch.stack([row.abs() for row in x]).max(0).values)
    assert len(found.sample) == 8
    assert all(any(torch.equal(row, one) for one in x) for row in found.sample)


def test_scaling_changes_weights_and_not_what_is_computed():
    source = RandomSource()
    block = next(source.blocks())
    for group in (block.groups[0], block.groups[3]):
        assert isinstance(group, InputGroup)
        before = block.output()
        weights = {name: block.weight(name) for name in group.modules}
        norm = source.tensor(f"{group.before}.weight")
        factors = torch.rand(block.weight(group.modules[0]).shape[1]) + 0.5
        block.scale(group, factors)
        assert torch.allclose(block.output(), before, rtol=1e-4, atol=1e-3 * before.abs().max())
        assert all(torch.allclose(block.weight(name), weights[name] * factors) for name in weights)
        assert not torch.equal(source.tensor(f"{group.before}.weight"), norm)


def test_what_is_replaced_is_what_later_layers_see():
    plain, changed = RandomSource(), RandomSource()
    first, second = plain.blocks(), changed.blocks()
    next(first)
    block = next(second)
    for name in block.groups[3].modules:
        block.replace(name, block.weight(name) * 0.5)
    theirs, ours = (later.inputs(later.groups[0]) for later in (next(first), next(second)))
    assert not torch.allclose(ours.second_moment, theirs.second_moment, rtol=1e-3)


def test_save_leaves_weights_of_quantized_modules_out(tmp_path):
    source, done = RandomSource(excluded=["lm_head"]), []
    made = [(layer, {"bits": torch.zeros(1)}) for layer in source.layers if not source.excluded(layer)]
    source.save(tmp_path, made, {"quant_method": "x"}, done.append)
    found = safetensors.torch.load_file(tmp_path / "model.safetensors")
    assert set(found) == set(source.written)
    assert {name for name in found if name.endswith(".bits")} == {f"{layer.name}.bits" for layer, _ in made}
    assert "lm_head.weight" in found
    assert "model.embed_tokens.weight" not in found
    assert torch.equal(found["model.norm.weight"], source.tensor("model.norm.weight"))
    assert done == [layer.name for layer, _ in made]
    assert json.loads((tmp_path / "config.json").read_text())["quantization_config"] == {"quant_method": "x"}


def test_output_is_what_the_blocks_compute():
    source = RandomSource()
    *_, last = source.blocks()
    assert torch.equal(source.output(source.values), last.output())
    changed = {**source.values, "model.layers.0.mlp.up_proj.weight": torch.zeros(384, 128)}
    assert not torch.allclose(source.output(changed), last.output())
