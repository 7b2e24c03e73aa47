from __future__ import annotations

import pytest
import safetensors.torch

from kernelet_quant_tools.modules import model_layers


@pytest.mark.parametrize("name", ["llama", "gemma", "qwen", "mixtral"])
def test_all_matrices_of_the_checkpoint(request, parse, name):
    folder = request.getfixturevalue(name)
    _, context = parse(folder, "--format", "plain", "--out", "x")
    config = context.engine(str(folder))
    found = {layer.name: layer for layer in model_layers(config, context.plugins())}
    shapes = {}
    for path in folder.glob("*.safetensors"):
        shapes |= {name: tuple(one.shape) for name, one in safetensors.torch.load_file(path).items()}
    matrices = {name.removesuffix(".weight"): shape for name, shape in shapes.items() if len(shape) == 2}
    assert {name: layer.shape for name, layer in found.items()} == matrices
    assert found["model.embed_tokens"].role == "embedding"
    assert {layer.name for layer in found.values() if layer.head} == {
        "model.embed_tokens" if name in {"gemma", "qwen"} else "lm_head"
    }
    assert any(layer.role == "grouped_linear" for layer in found.values()) is (name == "mixtral")
