from __future__ import annotations

import pytest

from kernelet.contracts.attention import Attention, AttentionOffer, AttentionSpec
from kernelet.contracts.offer import Settings

SPEC = AttentionSpec(kind="full", num_heads=4, num_kv_heads=2, head_size=8, dtype="float32", block_size=16, scale=0.5)


class Least(Attention):
    def allocate_cache(self, spec, num_blocks, device): ...
    def build_metadata(self, batch, device): ...
    def write_kv(self, key, value, cache, metadata): ...
    def forward(self, query, cache, metadata, sinks=None):
        return query


def test_what_an_attention_must_have():
    assert Attention.__abstractmethods__ == {"allocate_cache", "build_metadata", "write_kv", "forward"}
    least = Least(SPEC, Settings(plugin="p"))
    assert (least.spec, least.settings.plugin) == (SPEC, "p")
    with pytest.raises(TypeError, match="abstract"):
        Attention(SPEC, Settings(plugin="p"))


def test_a_plain_layer_has_nothing_special():
    assert (SPEC.window, SPEC.soft_cap, SPEC.sinks) == (None, None, False)


def test_specs_are_keys():
    assert {SPEC: 1}[AttentionSpec(**vars(SPEC))] == 1


def test_an_offer_promises_nothing_by_default():
    offer = AttentionOffer(name="a", target="m:A", kinds=frozenset({"full"}))
    assert not offer.soft_cap
    assert not offer.sinks
    assert offer.required_features == frozenset()
    assert (offer.dtypes, offer.head_sizes, offer.block_size_multiple) == ((), (), 1)


def test_blocks_cannot_be_copied_unless_the_implementation_can():
    with pytest.raises(NotImplementedError, match="Least does not copy blocks"):
        Least(SPEC, Settings(plugin="p")).copy_blocks(None, [1], [2])
