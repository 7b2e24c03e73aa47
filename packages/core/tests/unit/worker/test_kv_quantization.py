from __future__ import annotations

import dataclasses
import logging

import pytest
import torch
from worker_doubles import PlainAttention, TinyLayer, TinyPlugins, engine_config

from kernelet.contracts.cache import MLAAttentionSpec
from kernelet.contracts.quant import KVCacheMethod, KVCacheOffer, KVCacheScheme
from kernelet.errors import ConfigError, PluginError, SelectionError, UnsupportedModelError, WeightsError
from kernelet.worker.kv_cache import KVCaches
from kernelet.worker.kv_quantization import KVQuantization, make_kv_quantization

SCALES = "scales of a KV cache that the checkpoint has"
OFFER = KVCacheOffer(name="eight", target="method")


class Eight(KVCacheMethod):
    """The first layer stays as it is."""

    kept = KVCacheScheme(element="e4m3fn", scales="tensor")

    def scheme(self, layer):
        assert (layer.num_kv_heads, layer.head_size, layer.dtype) in {(2, 4, "float64"), (1, 6, "float64")}
        return None if layer.name == "layers.0" else self.kept

    def stored(self, layer):
        return ("k_scale",)

    def scales(self, layer, stored):
        return (float(stored["k_scale"]), 2.0) if stored else (1.0, 1.0)


class Expecting(Eight):
    expects_scales = True


class Own(Eight):
    kept = KVCacheScheme(element="int8", scales="token_head")


class Scaled(PlainAttention):
    given = None

    def set_cache_scales(self, key, value):
        self.given = (key, value)


@pytest.fixture
def layers():
    return [TinyLayer(index, window, torch.zeros(4, 8, 8)) for index, window in enumerate([None, None, 6])]


def config(tmp_path, name):
    base = engine_config(tmp_path)
    return dataclasses.replace(base, cache=dataclasses.replace(base.cache, dtype=name))


def made(tmp_path, method, name="eight"):
    return make_kv_quantization(config(tmp_path, name), TinyPlugins(OFFER, method=method))


def test_without_a_name_nothing_changes(tmp_path, layers):
    kept = made(tmp_path, Eight, "auto")
    assert all(kept.spec(layer) is layer.spec and kept.cache_spec(layer) == layer.cache_spec() for layer in layers)


def test_specs_have_the_form_and_pages_their_size(tmp_path, layers):
    kept, own = made(tmp_path, Eight), made(tmp_path, Own)
    assert kept.spec(layers[0]) == layers[0].spec
    assert [kept.spec(layer).cache_form for layer in layers] == ["", "e4m3fn:tensor", "e4m3fn:tensor"]
    plain = layers[1].cache_spec()
    assert plain.page_bytes == 8 * 64
    assert (kept.cache_spec(layers[1]).page_bytes, kept.cache_spec(layers[1]).dtype) == (64, "e4m3fn")
    found = own.cache_spec(layers[2])
    assert (found.page_bytes, found.dtype, found.window) == (64 + 2 * 4 * 2 * 4, "int8", 6)


def test_a_latent_layer_has_one_vector_a_token(tmp_path, layers):
    layers[1].spec = dataclasses.replace(layers[1].spec, kind="mla", num_kv_heads=1, head_size=6, kv_lora_rank=4)
    layers[1].cache_spec = lambda: MLAAttentionSpec(
        block_size=4, page_bytes=4 * 6 * 8, num_kv_heads=1, head_size=6, dtype="float64", kv_lora_rank=4
    )
    found = made(tmp_path, Own).cache_spec(layers[1])
    assert (found.page_bytes, found.dtype, found.kv_lora_rank) == (4 * 6 + 4 * 4, "int8", 4)


def test_a_layer_that_keeps_something_else(tmp_path, layers):
    layers[1].cache_spec = lambda: type(TinyLayer.cache_spec(layers[1]))(
        block_size=4, page_bytes=100, num_kv_heads=2, head_size=4, dtype="float64"
    )
    with pytest.raises(UnsupportedModelError, match=r"--kv-cache-dtype eight: layers\.1 keeps something else"):
        made(tmp_path, Eight).cache_spec(layers[1])


def test_attention_is_selected_for_the_form_and_named_in_the_plan(tmp_path, layers):
    plugins = TinyPlugins()
    asked, select = [], plugins.select_attention
    plugins.select_attention = lambda spec: asked.append(spec) or select(spec)
    caches = KVCaches(plugins, "cpu", made(tmp_path, Eight))
    attention = caches.select(layers)
    assert [spec.cache_form for spec in asked] == ["", "e4m3fn:tensor", "e4m3fn:tensor"]
    assert [attention[layer.name].spec for layer in layers] == asked
    assert [plan.detail for plan in caches.plans] == ["full", "full, e4m3fn:tensor", "sliding, e4m3fn:tensor"]
    assert [spec.dtype for spec in caches.specs(layers).values()] == ["float64", "e4m3fn", "e4m3fn"]


def give(quantization, layers, stored, caplog, **options):
    attention = {layer.name: Scaled(layer.spec, None) for layer in layers}
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        quantization.set_scales(
            layers, attention, {name: torch.tensor(value) for name, value in stored.items()}, **options
        )
    return [one.given for one in attention.values()], [record.getMessage() for record in caplog.records]


def test_scales_go_to_their_layers(tmp_path, layers, caplog):
    kept = made(tmp_path, Eight)
    stored = {"layers.1.k_scale": 0.5, "layers.2.k_scale": 0.25}
    assert give(kept, layers, stored, caplog) == ([None, (0.5, 2.0), (0.25, 2.0)], [])
    assert give(kept, layers, {}, caplog) == ([None, (1.0, 1.0), (1.0, 1.0)], [])
    assert give(made(tmp_path, Own), layers, {}, caplog) == ([None] * 3, [])


def test_what_is_missing_or_of_no_use_is_said(tmp_path, layers, caplog):
    kept = made(tmp_path, Eight)
    given, said = give(kept, layers, {"layers.1.k_scale": 0.5, "layers.0.k_scale": 1.0, "x.v_scale": 1.0}, caplog)
    assert given == [None, (0.5, 2.0), (1.0, 1.0)]
    assert said == [
        f"--kv-cache-dtype eight has no use for {SCALES}: layers.0.k_scale and 1 more",
        "--kv-cache-dtype eight: the checkpoint has no scales for layers.2: 1 is taken",
    ]
    nothing = KVQuantization("", None)
    stored = {"layers.1.k_scale": 0.5}
    assert give(nothing, layers, stored, caplog)[1] == [
        f"without --kv-cache-dtype nothing uses {SCALES}: layers.1.k_scale"
    ]
    assert give(nothing, layers, stored, caplog, warn=False)[1] == []
    assert give(made(tmp_path, Expecting), layers, {}, caplog)[1] == [
        "--kv-cache-dtype eight: the checkpoint has no scales for layers.1 and 1 more: 1 is taken"
    ]


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), 1e-45])
def test_what_is_no_scale(tmp_path, layers, caplog, scale):
    with pytest.raises(WeightsError, match=r"layers\.1: .* cannot be the scale of a KV cache"):
        give(made(tmp_path, Eight), layers, {"layers.1.k_scale": scale}, caplog)


def test_a_class_that_is_none_or_fails(tmp_path):
    with pytest.raises(SelectionError):
        made(tmp_path, Eight, "nine")
    with pytest.raises(PluginError, match="'eight' is no KVCacheMethod"):
        made(tmp_path, dict)

    class Fails(Eight):
        def __init__(self, *_):
            raise self.error

    for error, kind, match in (
        (ValueError("odd"), PluginError, "'eight' of plugin 'tiny' cannot be made: ValueError: odd"),
        (ConfigError("no"), ConfigError, "^no$"),
    ):
        Fails.error = error
        with pytest.raises(kind, match=match):
            made(tmp_path, Fails)
