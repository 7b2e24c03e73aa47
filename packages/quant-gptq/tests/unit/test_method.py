from __future__ import annotations

import dataclasses
import logging

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.contracts.quant import QuantLayer
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet.testing.quantization.layers import layer_of, model_config, weight_of
from kernelet.testing.weight_kernel.reference import dequantize
from kernelet_quant_gptq.conformance import store_gptq
from kernelet_quant_gptq.method import Gptq

UP = layer_of("model.layers.1.mlp.up_proj", (64, 96))
HEAD = layer_of("lm_head", (64, 96), head=True)
ROUTER = QuantLayer(name="model.layers.1.mlp.gate", role="linear", shape=(64, 96), dtype="float32", router=True)
TABLE = layer_of("model.embed_tokens", (64, 96), "embedding")
CONFIG = {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False, "sym": True}


def method(**config):
    said = CONFIG | config
    return Gptq(Settings(plugin="quant-gptq"), said, model_config("gptq", said))


def stored(**config):
    return store_gptq(weight_of(UP.shape, 1), CONFIG | config)


def scheme(element="int4", block=32, permuted=False):
    zero = "int" if element.startswith("u") else None
    scales = (ScaleLevel("float16", (1, block)),)
    return WeightScheme(element=element, scales=scales, zero_point=zero, permuted=permuted)


@pytest.mark.parametrize(
    "config, layer, wanted",
    [
        ({}, UP, scheme()),
        ({"sym": False}, UP, scheme("uint4")),
        ({"bits": 3}, UP, scheme("int3")),
        ({"bits": 8, "group_size": -1}, UP, scheme("int8", 0)),
        ({"group_size": 128}, UP, scheme("int4", 0)),
        ({"desc_act": True}, UP, scheme(permuted=True)),
        ({"desc_act": True, "static_groups": True}, UP, scheme()),
        ({"desc_act": True, "group_size": -1}, UP, scheme("int4", 0)),
        ({"dynamic": {".*up_proj": {"bits": 2, "sym": False}}}, UP, scheme("uint2")),
        ({"dynamic": {"-:.*up_proj": {}}}, UP, None),
        ({}, HEAD, None),
        ({"lm_head": True}, HEAD, scheme()),
        ({"lm_head": True}, dataclasses.replace(HEAD, tied=True), None),
        ({}, ROUTER, None),
        ({}, TABLE, None),
    ],
)
def test_how_a_module_is_stored(config, layer, wanted):
    assert method(**config).scheme(layer) == wanted


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("written, said", [("gptq", "gptq_v2"), ("gptq_v2", "gptq"), ("gptq", "gptq")])
def test_symmetric_weights_are_read_whatever_the_label_says(bits, written, said, caplog):
    tensors, weight = stored(bits=bits, checkpoint_format=written)
    made = method(bits=bits, checkpoint_format=said)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert torch.equal(dequantize(made.canonical(UP, tensors), made.scheme(UP)), weight)
    wanted = [f"the zero points are those of {written}, and not of {said} as the checkpoint says"]
    assert [record.getMessage() for record in caplog.records] == wanted * (written != said)


def test_asymmetric_weights_are_read_as_the_label_says():
    tensors, weight = stored(sym=False, checkpoint_format="gptq_v2")
    right, wrong = (method(sym=False, checkpoint_format=form) for form in ("gptq_v2", "gptq"))
    assert torch.equal(dequantize(right.canonical(UP, tensors), right.scheme(UP)), weight)
    assert not torch.equal(dequantize(wrong.canonical(UP, tensors), wrong.scheme(UP)), weight)


def test_zero_points_that_are_not_symmetric():
    tensors, _ = stored(sym=False)
    with pytest.raises(WeightsError, match=r"up_proj\.qzeros must be 7 or 8 everywhere where sym is true"):
        method().canonical(UP, tensors)


def test_groups_in_order_need_no_index():
    tensors, weight = stored()
    for more in ({}, {"g_idx": torch.arange(96, dtype=torch.int32) // 32}):
        assert torch.equal(dequantize(method().canonical(UP, tensors | more), scheme()), weight)
    assert method().optional(UP) == ("g_idx",)
    assert "g_idx" in method(desc_act=True).stored(UP)


@pytest.mark.parametrize(
    "config, change, match",
    [
        ({"desc_act": True}, {"g_idx": torch.zeros(96, dtype=torch.int32)}, "other groups than of 32 inputs"),
        ({"desc_act": True}, {"g_idx": torch.arange(96) // 16}, "other groups than of 32 inputs"),
        ({}, {"g_idx": (torch.arange(96) // 32).flip(0)}, "is in act-order.*desc_act must be true"),
        ({"static_groups": True, "desc_act": True}, {"g_idx": (torch.arange(96) // 32).flip(0)}, "static_groups false"),
        ({"desc_act": True}, {}, r"the checkpoint has no model\.layers\.1\.mlp\.up_proj\.g_idx"),
        ({}, {"scales": torch.full((3, 64), torch.inf)}, "scales has values that float16 cannot hold"),
        ({}, {"scales": torch.ones(3, 64, dtype=torch.int32)}, "scales is torch.int32"),
        ({}, {"qweight": torch.ones(12, 64)}, "qweight is torch.float32"),
        (
            {},
            {"qweight": torch.ones(64, 12)},
            r"qweight is \[64, 12\]; GPTQ .* stores a weight \[64, 96\] as \[12, 64\]",
        ),
    ],
)
def test_damage_is_named(config, change, match):
    with pytest.raises(WeightsError, match=match):
        method(**config).canonical(UP, {**stored()[0], **change})


def test_a_size_that_does_not_fit_is_refused():
    with pytest.raises(UnsupportedModelError, match="up_proj: GPTQ stores no weight of 40 outputs"):
        method(bits=3).scheme(layer_of("up_proj", (40, 64)))


def test_rules_that_match_nothing_are_named():
    made = method(dynamic={"-:.*visual": {}, ".*up_proj": {"bits": 8}})
    made.scheme(UP)
    assert made.unused() == ["dynamic: -:.*visual"]
