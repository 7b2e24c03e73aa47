from __future__ import annotations

import pytest
import torch

from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.contracts.quant import QuantLayer, QuantOffer
from kernelet.errors import ConfigError, UnsupportedModelError
from kernelet.testing.offered import find_offer
from kernelet.testing.quantization.layers import layer_of
from kernelet.testing.quantization.methods import method_of

UP = layer_of("model.layers.0.mlp.up_proj", (4, 64))
HEAD = layer_of("lm_head", (4, 64), head=True)
TABLE = layer_of("model.embed_tokens", (4, 64), "embedding")
TIED = layer_of("model.embed_tokens", (4, 64), "embedding", head=True)
ROUTER = QuantLayer(name="model.layers.0.mlp.gate", role="linear", shape=(4, 64), dtype="float32", router=True)
INPUTS = {"activation": "dynamic", "activation_element": "int8"}
INT8 = WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),), **INPUTS)
INT4 = WeightScheme(element="uint4", scales=(ScaleLevel("float32", (1, 32)),), zero_point="float", **INPUTS)
WIDE = WeightScheme(element="int4", scales=(ScaleLevel("float32", (1, 128)),), **INPUTS)


def method(name, config=None, **options):
    found = find_offer("kernelet_quant_online.plugin", QuantOffer, name, **options)
    return method_of(found, config)


@pytest.mark.parametrize(
    "name, options, layer, scheme",
    [
        ("int8", {}, UP, INT8),
        ("int8", {"activations": "none"}, UP, WeightScheme(element="int8", scales=INT8.scales)),
        ("int8", {"group_size": 64}, UP, INT8),
        ("int8", {}, HEAD, INT8),
        ("int8", {"head": "none"}, HEAD, None),
        ("int8", {"head": "int4"}, HEAD, INT4),
        ("int8", {}, TABLE, None),
        ("int8", {"embedding": "int8"}, TABLE, INT8),
        ("int8", {}, TIED, INT8),
        ("int8", {}, ROUTER, None),
        ("int4", {}, UP, INT4),
        ("int4", {}, HEAD, INT8),
        ("int4", {"head": "int4"}, HEAD, INT4),
        ("int4", {"group_size": 128, "zero_points": False}, UP, WIDE),
        ("int4", {"exclude": "mlp.up_proj"}, UP, None),
        ("int4", {"exclude": "mlp.up_proj, lm_*"}, HEAD, None),
    ],
)
def test_how_a_module_is_stored(name, options, layer, scheme):
    assert method(name, **options).scheme(layer) == scheme


def test_what_cannot_be():
    with pytest.raises(ConfigError, match=r"quant-online\.group_size is 48; it must be one of 32, 64, 128"):
        method("int4", group_size=48)
    with pytest.raises(ConfigError, match=r"quant-online\.exclude: 're:\(' is no regular expression"):
        method("int4", exclude="re:(")
    with pytest.raises(UnsupportedModelError, match="quantized with 'other'"):
        method("int8", {"quant_method": "other"})


def test_what_was_excluded_and_is_not_there():
    made = method("int8", exclude="mlp.up_proj,visual")
    made.scheme(UP)
    assert made.unused() == ["quant-online.exclude=visual"]


def test_the_identity_is_that_of_the_arithmetic():
    assert method("int8").identity() == method("int8", exclude="x").identity() != ""


def test_16_bits_are_rounded_from_their_own_value():
    weight = torch.randn(4, 64, generator=torch.Generator().manual_seed(1)).bfloat16()
    made = method("int8")
    found, wide = made.canonical(UP, {"weight": weight}), made.canonical(UP, {"weight": weight.double()})
    assert all(torch.equal(found[name], wide[name]) for name in found)
