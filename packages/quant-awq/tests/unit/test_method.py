from __future__ import annotations

import dataclasses

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.contracts.quant import QuantLayer
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet.testing.quantization.layers import layer_of, model_config, weight_of
from kernelet_quant_awq.conformance import store_awq
from kernelet_quant_awq.method import Awq

UP = layer_of("model.layers.1.mlp.gate_up_proj", (16, 64))
HEAD = layer_of("lm_head", (16, 64), head=True)
ROUTER = QuantLayer(name="model.layers.1.mlp.gate", role="linear", shape=(8, 64), dtype="float32", router=True)
TABLE = layer_of("model.embed_tokens", (16, 64), "embedding")


def method(**config):
    said = {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True, "version": "gemm", **config}
    return Awq(Settings(plugin="quant-awq"), said, model_config("awq", said))


def scheme(block):
    return WeightScheme(element="uint4", scales=(ScaleLevel("float16", (1, block)),), zero_point="int")


@pytest.mark.parametrize(
    "config, layer, wanted",
    [
        ({}, UP, scheme(32)),
        ({"group_size": -1}, UP, scheme(0)),
        ({}, HEAD, None),
        ({"lm_head": True}, HEAD, scheme(32)),
        ({"lm_head": True}, dataclasses.replace(HEAD, tied=True), None),
        ({}, ROUTER, None),
        ({}, TABLE, None),
        ({"modules_to_not_convert": ["mlp.gate"]}, UP, scheme(32)),
        ({"modules_to_not_convert": ["model.layers.1"]}, UP, None),
        ({"modules_to_not_convert": ["layers.10"]}, UP, scheme(32)),
        ({"modules_to_not_convert": ["gate_up_proj"]}, UP, None),
        ({"modules_to_not_convert": ["re:.*mlp.*"]}, UP, None),
        ({"modules_to_not_convert": ["visual"]}, UP, scheme(32)),
        ({"modules_to_not_convert": None}, UP, scheme(32)),
    ],
)
def test_how_a_module_is_stored(config, layer, wanted):
    assert method(**config).scheme(layer) == wanted


def test_entries_that_match_nothing_are_named():
    made = method(modules_to_not_convert=["mlp.gate", "visual", "gate_up_proj"])
    made.scheme(UP)
    made.scheme(HEAD)
    assert made.unused() == ["modules_to_not_convert: mlp.gate", "modules_to_not_convert: visual"]


def test_symmetric_zero_points_are_the_middle():
    stored, _ = store_awq(weight_of(UP.shape, 1), 32)
    with pytest.raises(WeightsError, match=r"gate_up_proj\.qzeros is not 8 everywhere, though zero_point is false"):
        method(zero_point=False).canonical(UP, stored)
    eights = torch.full_like(stored["qzeros"], -0x77777778)
    found = method(zero_point=False).canonical(UP, {**stored, "qzeros": eights})
    assert (found["zero_points"] == 8).all()


@pytest.mark.parametrize(
    "name, change, match",
    [
        ("scales", lambda t: t.fill_(torch.nan), "scales has values that float16 cannot hold"),
        ("scales", lambda t: t.double() * 1e9, "scales has values that float16 cannot hold"),
        ("scales", lambda t: t.int(), "scales is torch.int32"),
        ("qweight", lambda t: t.long(), "qweight is torch.int64"),
        ("qweight", lambda t: t.T, r"qweight is \[2, 64\]; AWQ .* stores a weight \[16, 64\] as \[64, 2\]"),
    ],
)
def test_damage_is_named(name, change, match):
    stored = dict(store_awq(weight_of(UP.shape, 1), 32)[0])
    stored[name] = change(stored[name].clone())
    with pytest.raises(WeightsError, match=f"{UP.name}.{match}"):
        method().canonical(UP, stored)


def test_scales_of_other_dtypes_are_read_as_the_format_reads_them():
    stored, _ = store_awq(weight_of(UP.shape, 1), 32)
    found = method().canonical(UP, {**stored, "scales": stored["scales"].bfloat16()})
    assert torch.equal(found["scales"], stored["scales"].bfloat16().half().T)


def test_a_size_that_does_not_fit_is_refused():
    with pytest.raises(UnsupportedModelError, match=r"up_proj: AWQ stores no weight of 12 outputs.*not_convert"):
        method().scheme(layer_of("up_proj", (12, 64)))
