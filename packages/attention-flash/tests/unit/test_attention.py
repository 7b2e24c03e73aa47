from __future__ import annotations

import pytest

from kernelet.contracts.attention import AttentionOffer
from kernelet.testing.attention.layers import AttentionCapabilities, Layers
from kernelet.testing.attention.steps import PagedRequests, hold
from kernelet.testing.attention.varlen import attend_varlen
from kernelet.testing.offered import find_offer
from kernelet_attention_flash.library import load_library
from kernelet_attention_flash.stand_in import stand_ins

STEPS = ({"a": 7, "b": 1}, {"c": 3, "a": 1}, {"a": 1, "b": 1, "c": 1}, {"b": 1, "a": 12, "c": 1})


@pytest.fixture(autouse=True)
def libraries():
    with stand_ins(attend_varlen):
        yield


def requests(name, **changes):
    offered = find_offer("kernelet_attention_flash.plugin", AttentionOffer, name)
    layers = Layers(offered.offer, AttentionCapabilities())
    spec = layers.spec(head_size=64, num_kv_heads=2, **changes)
    assert layers.serves(spec)
    return PagedRequests(offered, spec, "cpu", num_blocks=12), layers.tolerance(spec)


@pytest.mark.parametrize("name", ["flash", "flash-3", "flash-4"])
@pytest.mark.parametrize("changes", [{}, {"window": 6, "soft_cap": 2.0}], ids=["full", "sliding"])
def test_each_generation_is_the_formula(name, changes):
    mine, tolerance = requests(name, **changes)
    hold(mine, STEPS, tolerance, "attention must be its formula")


def test_decode_splits_keys(monkeypatch):
    called = []
    library = load_library(2)

    def watched(name):
        real = getattr(library, name)

        def function(*args, **options):
            called.append(name)
            return real(*args, **options)

        monkeypatch.setattr(library, name, function)

    watched("flash_attn_varlen_func")
    watched("flash_attn_with_kvcache")
    mine, _ = requests("flash")
    for counts in ({"a": 9, "b": 2}, {"a": 1, "b": 1}, {"a": 9, "b": 9}, {"a": 2, "b": 2}, {"a": 1, "b": 2}):
        mine.step(counts)
    varlen, decode = "flash_attn_varlen_func", "flash_attn_with_kvcache"
    assert called == [varlen, decode, varlen, decode, varlen]
