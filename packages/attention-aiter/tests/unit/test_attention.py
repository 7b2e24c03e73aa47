from __future__ import annotations

import pytest

from kernelet.contracts.attention import AttentionOffer
from kernelet.testing.attention.layers import AttentionCapabilities, Layers
from kernelet.testing.attention.steps import PagedRequests, hold
from kernelet.testing.attention.varlen import attend_varlen
from kernelet.testing.offered import find_offer
from kernelet_attention_aiter.stand_in import stand_in

STEPS = ({"a": 37, "b": 1}, {"c": 3, "a": 1}, {"a": 1, "b": 1, "c": 1}, {"b": 1, "a": 12, "c": 1})


@pytest.fixture(autouse=True)
def library():
    with stand_in(attend_varlen):
        yield


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("block_size", [16, 48])
@pytest.mark.parametrize(
    "changes",
    [{}, {"window": 6, "soft_cap": 2.0}],
    ids=["full", "sliding"],
)
def test_it_is_the_formula(dtype, block_size, changes):
    offered = find_offer("kernelet_attention_aiter.plugin", AttentionOffer)
    layers = Layers(offered.offer, AttentionCapabilities())
    spec = layers.spec(head_size=128, num_kv_heads=2, dtype=dtype, block_size=block_size, **changes)
    assert layers.serves(spec)
    mine = PagedRequests(offered, spec, "cpu", num_blocks=12)
    hold(mine, STEPS, layers.tolerance(spec), "attention must be its formula")
