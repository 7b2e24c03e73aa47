from __future__ import annotations

import torch
from safetensors.torch import save_file

from kernelet.loading.cache_scales import take_cache_scales
from kernelet.loading.safetensors import SafetensorsReader


def test_scales_are_taken_out(tmp_path):
    tensors = {
        "a.self_attn.k_scale": torch.tensor(0.5),
        "a.self_attn.attn.v_scale": torch.tensor([0.25]),
        "a.self_attn.k_proj.weight": torch.ones(2, 2),
        "a.self_attn.k_proj.weight_scale": torch.ones(2),
        "kv_scales.weight": torch.ones(1),
    }
    save_file(tensors, tmp_path / "model.safetensors")
    reader, scales = take_cache_scales(SafetensorsReader(tmp_path))
    assert {name: scale.tolist() for name, scale in scales.items()} == {
        "a.self_attn.k_scale": 0.5,
        "a.self_attn.attn.v_scale": [0.25],
    }
    assert set(reader.names()) == tensors.keys() - scales.keys()


def test_a_checkpoint_without_any_is_as_it_was(tmp_path):
    save_file({"a.weight": torch.ones(1)}, tmp_path / "model.safetensors")
    given = SafetensorsReader(tmp_path)
    reader, scales = take_cache_scales(given)
    assert reader is given
    assert scales == {}
