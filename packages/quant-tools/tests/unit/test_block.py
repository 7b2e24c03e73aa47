from __future__ import annotations

from pathlib import Path

import pytest
import safetensors.torch
import torch
import transformers
from quantize_models import IDS, ROWS, source_of

from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet.loading.safetensors import SafetensorsReader


def inputs_of(folder: Path, changes=()) -> dict[str, torch.Tensor]:
    """What each linear module of the layers is given, by transformers, all tokens in one row."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    model.load_state_dict(dict(changes), strict=False)
    found = {}
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and ".layers." in name:
            module.register_forward_pre_hook(lambda _, args, name=name: found.update({name: args[0].flatten(0, 1)}))
    with torch.no_grad():
        model(IDS)
    return found


@pytest.mark.parametrize("name", ["llama", "gemma", "qwen"])
def test_inputs_are_those_of_the_model(request, name):
    folder = request.getfixturevalue(name)
    expected, seen = inputs_of(folder), set()
    for block in source_of(folder).blocks():
        assert [layer.name for layer in block.layers] == [name for group in block.groups for name in group.modules]
        for group in block.groups:
            found = block.inputs(group)
            assert block.inputs(group) is found
            for name in group.modules:
                x = expected[name].double()
                seen.add(name)
                assert found.tokens == len(x) == IDS.numel()
                assert torch.allclose(found.second_moment.double(), x.T @ x / len(x), rtol=1e-3, atol=1e-4)
                assert torch.allclose(found.mean_magnitude.double(), x.abs().mean(0), atol=1e-4)
                assert torch.allclose(found.largest.double(), x.abs().amax(0), atol=1e-3)
                assert found.sample.shape == (ROWS, x.shape[1])
    assert seen == set(expected)


def test_replaced_weights_change_what_follows_at_once(llama):
    changes, later = {}, {}
    for block in source_of(llama).blocks():
        for group in block.groups:
            for name, found in later.items():
                assert name not in group.modules, found
            later = {name: block.inputs(group).second_moment for name in group.modules}
            expected = inputs_of(llama, changes)
            for name, moment in later.items():
                x = expected[name].double()
                assert torch.allclose(moment.double(), x.T @ x / len(x), rtol=1e-3, atol=1e-3)
            for name in group.modules:
                weight = block.weight(name)
                rounded = (weight * 20).round() / 20
                assert not torch.equal(rounded, weight)
                block.replace(name, rounded)
                changes[f"{name}.weight"] = rounded
                assert torch.equal(block.weight(name), rounded)
    assert len(changes) == 14


@pytest.mark.parametrize("name", ["llama", "gemma", "qwen"])
def test_scaling_changes_no_logits(request, name, tmp_path):
    folder = request.getfixturevalue(name)
    source, scaled = source_of(folder), 0
    for block in source.blocks():
        for group in block.groups:
            before = block.inputs(group)
            if group.before:
                factors = torch.rand(before.largest.shape) + 0.5
                block.scale(group, factors)
                scaled += 1
                assert torch.allclose(block.inputs(group).largest, before.largest / factors)
            else:
                with pytest.raises(ValueError, match="no channel factor can be moved before"):
                    block.scale(group, torch.ones(before.largest.shape))
    assert scaled == (6 if name == "llama" else 8)
    model, other = (transformers.AutoModelForCausalLM.from_pretrained(folder).eval() for _ in range(2))
    other.load_state_dict({name: source.tensor(name) for name in source.tensors}, strict=False)
    with torch.no_grad():
        expected, found = model(IDS).logits, other(IDS).logits
    assert any(not torch.equal(one, two) for one, two in zip(model.parameters(), other.parameters(), strict=True))
    assert torch.allclose(found, expected, rtol=1e-3, atol=1e-3 * float(expected.abs().max()))
    source.save(tmp_path, [], {"quant_method": "none"}, lambda _: None)
    saved = safetensors.torch.load_file(tmp_path / "model.safetensors")
    assert all(torch.equal(saved[name], source.tensor(name)) for name in source.tensors)


def test_what_cannot_be_done_is_said(llama):
    block = next(source_of(llama).blocks())
    norm, output = block.groups[:2]
    size = block.weight(norm.modules[0]).shape[1]
    for factors in (torch.zeros(size), -torch.ones(size), torch.full((size,), torch.nan)):
        with pytest.raises(ValueError, match="positive and finite"):
            block.scale(norm, factors)
    name = output.modules[0]
    for weight in (torch.zeros(3, 3), torch.full_like(block.weight(name), torch.nan)):
        with pytest.raises(WeightsError, match=name):
            block.replace(name, weight)


def test_a_module_that_transformers_has_not(llama, monkeypatch):
    monkeypatch.setattr("kernelet_quant_tools.block.find_shared", lambda *_: [])
    with pytest.raises(UnsupportedModelError, match=r"model\.layers\.0\..* is no linear module of its own"):
        next(source_of(llama).blocks())


def test_damaged_weights_are_named(llama, monkeypatch):
    read = SafetensorsReader.read

    def damaged(self, name, rows=None):
        found = read(self, name, rows)
        return found * torch.nan if name == "model.layers.0.mlp.down_proj.weight" else found

    monkeypatch.setattr(SafetensorsReader, "read", damaged)
    with pytest.raises(WeightsError, match=r"model\.layers\.0: with its weights the calibration text has values"):
        list(source_of(llama).blocks())
