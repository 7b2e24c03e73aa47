from __future__ import annotations

import pytest
import torch
import transformers
from quantize_models import FEW as IDS
from quantize_models import reader
from torch import nn

from kernelet.errors import UnsupportedModelError
from kernelet_quant_tools.decoder import Decoder, run, without_memory


@pytest.mark.parametrize("name", ["llama", "gemma", "qwen"])
def test_layer_by_layer_it_is_the_model(request, name):
    folder = request.getfixturevalue(name)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        expected = model(IDS, output_hidden_states=True).hidden_states
    decoder = Decoder(folder, reader(folder))
    assert decoder.name == "model.layers"
    states, arguments = decoder.begin(IDS)
    assert torch.allclose(states, expected[0], atol=1e-5)
    for index in range(len(arguments)):
        layer = decoder.load(index)
        states = torch.cat([run(layer, row[None], arguments[index]) for row in states])
        decoder.drop(index)
        if index + 1 < len(arguments):  # the last ones are after the last norm
            assert torch.allclose(states, expected[index + 1], atol=1e-4)
    with torch.no_grad():
        assert torch.allclose(model.model.norm(states), expected[-1], atol=1e-4)


def test_layers_have_memory_while_they_are_loaded(llama):
    decoder = Decoder(llama, reader(llama))
    assert all(parameter.is_meta for parameter in decoder.layers.parameters())
    layer = decoder.load(1)
    assert not any(parameter.is_meta for parameter in layer.parameters())
    assert all(parameter.is_meta for parameter in decoder.layers[0].parameters())
    decoder.drop(1)
    assert list(decoder.layers[1].parameters()) == []


def test_what_transformers_cannot_build(llama, tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "nope", "architectures": ["Nope"]}')
    with pytest.raises(UnsupportedModelError, match=r"cannot build this model: .*choose a format that needs no calibr"):
        Decoder(tmp_path, reader(llama))
    tensors = reader(llama)
    wrong = Decoder(llama, lambda name: tensors(name)[..., :-1])
    with pytest.raises(UnsupportedModelError, match=r"embed_tokens\.weight is \[211, 127\], transformers wants"):
        wrong.begin(IDS)


def test_parameters_without_memory_end_with_the_block():
    with without_memory():
        assert nn.Linear(2, 3).weight.is_meta
        norm = nn.BatchNorm1d(3)
    assert not norm.running_mean.is_meta
    assert not nn.Linear(2, 3).weight.is_meta
