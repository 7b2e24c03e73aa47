from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernelet.contracts.attention import Attention, AttentionBatch, AttentionOffer, AttentionSpec
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
    assert (SPEC.cache_dtype, SPEC.cache_scales, SPEC.cache_form) == ("", "", "")


def test_a_cache_of_another_dtype_is_named_with_its_scales():
    assert replace(SPEC, cache_dtype="int8", cache_scales="token_head").cache_form == "int8:token_head"


def test_a_latent_layer_stores_one_vector_whose_beginning_is_its_value():
    latent = replace(SPEC, kind="mla", num_kv_heads=1, head_size=576, kv_lora_rank=512)
    assert (latent.value_size, SPEC.value_size) == (512, 8)
    assert [(part.name, part.width) for part in latent.cache_parts] == [("key", 576)]
    scaled = replace(latent, cache_dtype="int8", cache_scales="token_head")
    assert [(part.name, part.width) for part in scaled.cache_parts] == [("key", 576), ("key_scale", 1)]
    assert [part.name for part in SPEC.cache_parts] == ["key", "value"]


def test_a_step_has_no_trees_by_default():
    nothing = np.zeros(0, dtype=np.int32)
    batch = AttentionBatch(query_start_loc=nothing, seq_lens=nothing, block_table=nothing, slot_mapping=nothing)
    assert (batch.tree_sizes, batch.tree_masks) == (None, None)


def test_scales_of_a_tensor_are_taken_by_those_that_have_them():
    with pytest.raises(NotImplementedError, match="Least keeps no cache with scales of a tensor"):
        Least(SPEC, Settings(plugin="p")).set_cache_scales(1.0, 1.0)


def test_specs_are_keys():
    assert {SPEC: 1}[AttentionSpec(**vars(SPEC))] == 1


def test_an_offer_promises_nothing_by_default():
    offer = AttentionOffer(name="a", target="m:A", kinds=frozenset({"full"}))
    assert not offer.soft_cap
    assert not offer.sinks
    assert offer.required_features == frozenset()
    assert (offer.dtypes, offer.head_sizes, offer.block_size_multiple, offer.cache_dtypes) == ((), (), 1, ())


def test_blocks_cannot_be_copied_unless_the_implementation_can():
    with pytest.raises(NotImplementedError, match="Least does not copy blocks"):
        Least(SPEC, Settings(plugin="p")).copy_blocks(None, [1], [2])
