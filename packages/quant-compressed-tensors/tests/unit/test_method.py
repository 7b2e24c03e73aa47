from __future__ import annotations

import pytest

from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.contracts.quant import QuantLayer, QuantOffer
from kernelet.errors import UnsupportedModelError
from kernelet.testing.offered import find_offer
from kernelet.testing.quantization.layers import layer_of
from kernelet.testing.quantization.methods import method_of
from kernelet_quant_compressed_tensors.conformance import configured

UP = layer_of("model.layers.0.mlp.up_proj", (4, 256))
DOWN = layer_of("model.layers.0.mlp.down_proj", (4, 256))
HEAD = layer_of("lm_head", (4, 256), head=True)
TABLE = layer_of("model.embed_tokens", (4, 256), "embedding")
ROUTER = QuantLayer(name="model.layers.0.mlp.gate", role="linear", shape=(4, 256), dtype="float32", router=True)
EXPERT = layer_of("model.layers.0.mlp.experts.1.up_proj", (4, 256), "grouped_linear")
INT4 = {"num_bits": 4, "strategy": "group", "group_size": 128}
POINTS = INT4 | {"symmetric": False}
TOKEN8 = {"num_bits": 8, "strategy": "token", "dynamic": True}
STATIC8 = {"num_bits": 8, "strategy": "tensor"}
PLAIN = WeightScheme(element="int4", scales=(ScaleLevel("float32", (1, 128)),))


def method(config, **options):
    found = find_offer("kernelet_quant_compressed_tensors.plugin", QuantOffer, "compressed-tensors", **options)
    return method_of(found, config)


def test_which_modules_are_quantized():
    made = method(configured("pack-quantized", INT4, ignore=["lm_head", "re:.*mlp.gate$"]))
    assert [made.scheme(one) for one in (UP, EXPERT, HEAD, TABLE, ROUTER)] == [PLAIN, PLAIN, None, None, None]
    assert list(made.unused()) == []
    assert method(configured("pack-quantized", INT4)).scheme(HEAD) == PLAIN


def test_each_group_has_its_modules():
    config = configured("mixed-precision", INT4)
    config["config_groups"]["group_1"] = {
        "targets": ["re:.*down_proj", "re:.*nothing"],
        "weights": {"num_bits": 8, "strategy": "channel"},
        "input_activations": TOKEN8,
    }
    made = method(config)
    int8 = WeightScheme(
        element="int8", scales=(ScaleLevel("float32", (1, 0)),), activation="dynamic", activation_element="int8"
    )
    assert (made.scheme(UP), made.scheme(DOWN)) == (PLAIN, int8)
    assert set(made.stored(UP)) == {"weight_packed", "weight_shape", "weight_scale"}
    assert set(made.stored(DOWN)) == {"weight", "weight_scale"}
    assert list(made.unused()) == ["quantization_config.config_groups: target re:.*nothing"]


@pytest.mark.parametrize(
    "said, weights, inputs, stored, optional",
    [
        ("pack-quantized", POINTS, None, "packed shape scale zero_point", "g_idx"),
        ("pack-quantized", INT4 | {"actorder": "group"}, None, "packed shape scale g_idx", "zero_point"),
        ("int-quantized", {"strategy": "channel"}, STATIC8, "- scale input", "g_idx zero_point"),
        ("int-quantized", {"strategy": "channel"}, TOKEN8, "- scale", "g_idx zero_point"),
    ],
)
def test_what_is_read(said, weights, inputs, stored, optional):
    names = {"-": "weight", "input": "input_scale"}
    made = method(configured(said, weights, inputs))
    assert set(made.stored(UP)) == {names.get(one, f"weight_{one}") for one in stored.split()}
    assert set(made.optional(UP)) == {names.get(one, f"weight_{one}") for one in optional.split()}


def test_inputs_may_be_left_as_they_are():
    made = method(configured("int-quantized", {"strategy": "channel"}, STATIC8), activations="none")
    assert made.scheme(UP) == WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),))
    assert "input_scale" in made.optional(UP)
    asymmetric = configured("int-quantized", {"strategy": "channel"}, TOKEN8 | {"symmetric": False})
    assert method(asymmetric, activations="none").scheme(UP) is not None


def test_groups_are_whole():
    made = method(configured("pack-quantized", INT4))
    with pytest.raises(UnsupportedModelError, match=r"^model\.x has 200 inputs, .*group_0 says groups of 128"):
        made.scheme(layer_of("model.x", (4, 200)))


def test_what_the_lists_say_wrong():
    with pytest.raises(UnsupportedModelError, match=r"'re:\[' is no regular expression"):
        method(configured("pack-quantized", INT4, ignore=["re:["]))
    made = method(configured("pack-quantized", INT4, ignore=["model.layers.0", "lm_head"]))
    assert made.scheme(UP) == PLAIN
    assert list(made.unused())[:1] == ["quantization_config.ignore: lm_head"]
    assert "quantization_config.ignore: model.layers.0" in made.unused()


def test_the_identity_is_that_of_the_reading():
    one, other = method(configured("pack-quantized", INT4)), method(configured("pack-quantized", POINTS))
    assert one.identity() == other.identity() != ""
