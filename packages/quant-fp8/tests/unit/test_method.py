from __future__ import annotations

import pytest
import torch

from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.contracts.quant import QuantLayer, QuantOffer
from kernelet.errors import UnsupportedModelError
from kernelet.testing.offered import find_offer
from kernelet.testing.quantization.layers import layer_of
from kernelet.testing.quantization.methods import method_of

UP = layer_of("model.layers.0.mlp.up_proj", (256, 64))
EXPERT = layer_of("model.layers.0.mlp.experts.1.up_proj", (4, 64), "grouped_linear")
HEAD = layer_of("lm_head", (4, 64), head=True)
TABLE = layer_of("model.embed_tokens", (4, 64), "embedding")
TIED = QuantLayer(name="model.embed_tokens", role="embedding", shape=(4, 64), dtype="float32", head=True, tied=True)
ROUTER = QuantLayer(name="model.layers.0.mlp.gate", role="linear", shape=(4, 64), dtype="float32", router=True)
ROWS, BLOCKS = (ScaleLevel("float32", (1, 0)),), (ScaleLevel("float32", (128, 128)),)
DYNAMIC = {"activation": "dynamic", "activation_element": "e4m3fn"}
STATIC = {"activation": "static", "activation_element": "e4m3fn"}


def method(said=None, **options):
    config = {"quant_method": "fp8", **(said or {})}
    found = find_offer("kernelet_quant_fp8.plugin", QuantOffer, "fp8", **options)
    return method_of(found, config)


@pytest.mark.parametrize(
    "said, options, scales, inputs",
    [
        ({}, {}, ROWS, DYNAMIC),
        ({"activation_scheme": "static"}, {}, ROWS, STATIC),
        ({"activation_scheme": "static"}, {"activations": "none"}, ROWS, {}),
        ({}, {"activations": "none"}, ROWS, {}),
        ({"weight_block_size": [128, 128]}, {}, BLOCKS, {}),
        ({"weight_block_size": [128, 128], "activation_scheme": "static"}, {}, BLOCKS, STATIC),
    ],
)
def test_how_a_module_is_stored(said, options, scales, inputs):
    assert method(said, **options).scheme(UP) == WeightScheme(element="e4m3fn", scales=scales, **inputs)


def test_which_modules_are_quantized():
    made = method({"ignored_layers": ["down_proj"], "modules_to_not_convert": ["model.layers.1"]})
    quantized = [UP, EXPERT, layer_of("model.layers.10.mlp.up_proj", (4, 64))]
    plain = [HEAD, TABLE, TIED, ROUTER, layer_of("model.layers.1.mlp.up_proj", (4, 64))]
    plain.append(layer_of("model.layers.10.mlp.down_proj", (4, 64)))
    assert all(made.scheme(one) is not None for one in quantized)
    assert [made.scheme(one) for one in plain] == [None] * len(plain)


def test_what_matched_nothing():
    listed = ["model.layers.0.input_layernorm", "model.norm.weight", "lm_head", "visual", "mlp.up_proj", "q_norm"]
    made = method({"modules_to_not_convert": listed})
    made.scheme(UP)
    assert list(made.unused()) == ["quantization_config: lm_head", "quantization_config: visual"]
    made.scheme(TIED)
    assert list(made.unused()) == ["quantization_config: visual"]


def test_what_the_lists_say_wrong():
    with pytest.raises(UnsupportedModelError, match=r"quantization_config: 're:\(' is no regular expression"):
        method({"ignored_layers": ["re:("]})


def test_writers_differ_in_names():
    static, dynamic = method({"activation_scheme": "static"}), method()
    assert set(static.optional(UP)) - set(dynamic.optional(UP)) == {"input_scale", "activation_scale"}
    weight, scale = torch.ones(256, 64).to(torch.float8_e4m3fn), torch.tensor([0.5])
    one = static.canonical(UP, {"weight": weight, "weight_scale": scale, "input_scale": scale})
    other = static.canonical(UP, {"weight": weight, "weight_scale_inv": scale[0], "activation_scale": scale[0]})
    assert set(one) == set(other) == {"weight", "scales", "input_scale"}
    assert torch.equal(one["scales"], torch.full((256, 1), 0.5))
    assert all(torch.equal(one[name].float(), other[name].float()) for name in one)


def test_outputs_that_are_no_whole_blocks_have_scales_of_their_own():
    made, layer = method({"weight_block_size": [128, 128]}), layer_of("model.layers.0.self_attn.k_proj", (192, 200))
    assert made.scheme(layer).scales == (ScaleLevel("float32", (1, 128)),)
    weight, scales = torch.ones(192, 200).to(torch.float8_e4m3fn), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    found = made.canonical(layer, {"weight": weight, "weight_scale_inv": scales})["scales"]
    assert torch.equal(found, torch.cat([scales[:1].expand(128, 2), scales[1:].expand(64, 2)]))


def test_the_identity_is_that_of_the_reading():
    assert method().identity() == method({"weight_block_size": [128, 128]}).identity() != ""
