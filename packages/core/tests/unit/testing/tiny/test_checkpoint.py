from __future__ import annotations

import json

from safetensors.numpy import load_file

from kernelet.testing.tiny.checkpoint import random_weights, tiny_config, write_checkpoint
from kernelet.testing.tiny.description import read_shape


def test_a_folder_as_a_hub_has_it(tmp_path):
    folder = write_checkpoint(tmp_path / "new", vocab_size=30)
    config = json.loads((folder / "config.json").read_text())
    assert config == tiny_config(vocab_size=30)
    tensors = load_file(folder / "model.safetensors")
    assert len(tensors) == 3 + 2 * 9
    assert tensors["head.weight"].shape == (30, 64)
    assert tensors["layers.1.k.weight"].shape == (64, 64)
    assert all(tensor.std() > 0.1 for tensor in tensors.values())


def test_the_seed_decides():
    shape = read_shape(tiny_config())
    one, same, other = (random_weights(shape, seed)["head.weight"] for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()
