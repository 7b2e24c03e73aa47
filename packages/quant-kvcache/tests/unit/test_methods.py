from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import KVCacheLayer, KVCacheScheme
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet.testing.quantization.layers import model_config
from kernelet_quant_kvcache.methods import FP8, Int8

LAYER = KVCacheLayer(name="model.layers.3.self_attn", num_kv_heads=2, head_size=64, dtype="bfloat16")


def method(kind, scheme=None):
    said = None if scheme is None else {"kv_cache_scheme": scheme}
    return kind(Settings(plugin="quant-kvcache"), model_config("", said))


def scales(**stored):
    made = method(FP8)
    named = {name.replace("__", "."): torch.tensor(value) for name, value in stored.items()}
    assert set(named) <= set(made.stored(LAYER))
    return made.scales(LAYER, named)


def test_schemes():
    assert method(FP8).scheme(LAYER) == KVCacheScheme(element="e4m3fn", scales="tensor")
    assert method(Int8).scheme(LAYER) == KVCacheScheme(element="int8", scales="token_head")
    assert method(Int8).stored(LAYER) == ()


@pytest.mark.parametrize(
    "scheme, expects",
    [
        (None, False),
        ("static", True),
        ("dynamic", False),
        ({"num_bits": 8, "type": "float", "dynamic": False}, True),
        ({"num_bits": 8, "type": "float", "dynamic": True}, False),
    ],
)
def test_what_the_checkpoint_says_of_its_scales(scheme, expects):
    assert method(FP8, scheme).expects_scales is expects
    assert not method(Int8, scheme).expects_scales


@pytest.mark.parametrize("scheme", [{"num_bits": 4, "type": "int"}, {"num_bits": 8, "type": "int"}])
def test_scales_of_other_numbers_are_not_taken(scheme):
    with pytest.raises(UnsupportedModelError, match=rf"of {scheme['num_bits']} bits \(type int\), .* int8"):
        method(FP8, scheme)
    method(Int8, scheme)


def test_scales_are_found_under_each_name():
    assert scales() == (1.0, 1.0)
    assert scales(k_scale=0.5, v_scale=[0.25]) == (0.5, 0.25)
    assert scales(attn__k_scale=[[0.5]], attn__v_scale=0.25) == (0.5, 0.25)
    assert scales(k_proj__k_scale=0.5, v_proj__v_scale=0.25) == (0.5, 0.25)
    assert scales(qkv_proj__k_scale=0.5, v_scale=0.25) == (0.5, 0.25)
    assert scales(k_scale=0.5, v_scale=0.25, k_zero_point=0) == (0.5, 0.25)
    assert scales(kv_scale=0.125) == (0.125, 0.125)
    assert scales(k_scale=0.5, attn__k_scale=0.5, v_scale=1.0) == (0.5, 1.0)


@pytest.mark.parametrize(
    "stored, says",
    [
        ({"k_scale": 0.5}, "has only one of k_scale and v_scale: v_scale is missing"),
        ({"v_scale": 0.5}, "k_scale is missing"),
        ({"kv_scale": 0.5, "k_scale": 0.5}, "must have one of both"),
        ({"k_scale": [0.5, 0.5], "v_scale": 1.0}, r"self_attn.k_scale has the shape \[2\]: a scale of all heads"),
        ({"k_scale": 0.5, "v_scale": 0.5, "v_zero_point": [3]}, "v_zero_point is not 0"),
        ({"k_scale": 0.5, "attn__k_scale": 0.25, "v_scale": 1.0}, "several scales that differ: k_scale, attn.k_scale"),
    ],
)
def test_scales_that_cannot_be(stored, says):
    with pytest.raises(WeightsError, match=says) as error:
        scales(**stored)
    assert LAYER.name in str(error.value)
