from __future__ import annotations

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import (
    KVCacheLayer,
    KVCacheMethod,
    ModulePatterns,
    QuantizationMethod,
    QuantLayer,
    QuantOffer,
)

LAYER = QuantLayer(name="model.layers.0.mlp.up_proj", role="linear", shape=(4, 8), dtype="float32")


class Nothing(QuantizationMethod):
    def scheme(self, layer):
        return None

    def canonical(self, layer, stored):
        return {}


def test_what_a_method_must_have():
    assert QuantizationMethod.__abstractmethods__ == {"scheme", "canonical"}
    settings = Settings(plugin="p")
    method = Nothing(settings, {"quant_method": "x"}, None)
    assert (method.settings, method.config) == (settings, {"quant_method": "x"})
    assert (tuple(method.stored(LAYER)), method.identity(), tuple(method.unused())) == (("weight",), "", ())


def test_a_kv_cache_method_needs_nothing_of_a_checkpoint():
    assert KVCacheMethod.__abstractmethods__ == {"scheme"}
    layer = KVCacheLayer(name="a.attn", num_kv_heads=1, head_size=8, dtype="float32")

    class AsItIs(KVCacheMethod):
        def scheme(self, layer):
            return None

    settings = Settings(plugin="p")
    made = AsItIs(settings, "model")
    assert (made.settings, made.model, made.scheme(layer)) == (settings, "model", None)
    assert (made.stored(layer), made.scales(layer, {}), layer.window) == ((), (1.0, 1.0), None)


def test_offers_read_nothing_unless_they_say_so():
    offer = QuantOffer(name="a", target="m:A")
    assert (offer.names, offer.online) == ((), False)
    assert not (LAYER.head or LAYER.router)


@pytest.mark.parametrize(
    "entry, name, matches",
    [
        ("linear_attn.in_proj_qkv", "model.layers.3.linear_attn.in_proj_qkv", True),
        ("linear_attn.in_proj_qkv", "model.layers.3.linear_attn.in_proj_qkvz", False),
        ("mlp.gate", "model.layers.0.mlp.gate", True),
        ("mlp.gate", "model.layers.0.mlp.gate_up_proj", False),
        ("mlp.gate", "model.layers.0.xmlp.gate", False),
        ("model.layers.1", "model.layers.1.mlp.up_proj", True),
        ("model.layers.1", "model.layers.10.mlp.up_proj", False),
        ("model.layers.1.", "model.layers.1.mlp.up_proj", True),
        ("re:.*lm_head.*", "model.lm_head", True),
        ("re:lm_head", "model.lm_head", False),
        ("re:.*v_proj", "model.layers.0.self_attn.v_proj", True),
        ("visual", "visual.blocks.0.attn", True),
        ("visual", "visualizer.blocks.0.attn", False),
        ("lm_head", "lm_head", True),
        ("layers.*.mlp", "model.layers.12.mlp.up_proj", True),
        ("layers.*.up_proj", "model.layers.12.mlp.up_proj", False),
        ("*_proj", "model.layers.12.mlp.up_proj", True),
        ("layers.1?", "model.layers.12.mlp.up_proj", True),
        ("layers.1?", "model.layers.1.mlp.up_proj", False),
        ("[kv]_proj", "a.k_proj", False),
    ],
)
def test_patterns(entry, name, matches):
    assert ModulePatterns([entry]).match(name) is matches


def test_entries_that_matched_nothing_are_kept():
    patterns = ModulePatterns(["lm_head", "layers.0", "re:x.*"])
    assert patterns.match("model.layers.0.mlp")
    assert not patterns.match("model.layers.1.mlp")
    assert patterns.unused() == ("lm_head", "re:x.*")


@pytest.mark.parametrize("entry", ["", ".", "re:("])
def test_entries_that_cannot_be(entry):
    with pytest.raises(ValueError, match=r"names no module|is no regular expression"):
        ModulePatterns(["fine", entry])
