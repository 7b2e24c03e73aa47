from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kernelet.contracts.attention import AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec, MLAAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_attention_triton import attention
from kernelet_device_triton.targets import TARGETS

SPEC = AttentionSpec(kind="full", num_heads=2, num_kv_heads=1, head_size=16, dtype="float32", block_size=4, scale=0.25)


def layer():
    return attention.TritonAttention(SPEC, Settings(plugin="x", values={"batch_invariant": False}))


def test_a_cpu_without_the_interpreter_is_refused(monkeypatch):
    monkeypatch.setattr(attention, "interpreting", lambda: False)
    spec = FullAttentionSpec(block_size=4, num_kv_heads=1, head_size=16, page_bytes=1 << 12, dtype="float32")
    with pytest.raises(ConfigError, match=r"--attention-backend, or set TRITON_INTERPRET=1"):
        layer().allocate_cache(spec, 2, torch.device("cpu"))


def test_vectors_are_copied_only_where_heads_do_not_follow_each_other():
    fused = torch.zeros(3, 6, 16)
    view = fused[:, 2:4]
    assert attention.heads_together(view) is view
    apart = torch.zeros(2, 3, 16).transpose(0, 1)
    assert attention.heads_together(apart).is_contiguous()


@pytest.mark.parametrize(
    "changes",
    [{"kind": "mla"}, {"kind": "mla", "kv_lora_rank": 17}, {"kv_lora_rank": 8}, {"kind": "mla", "num_kv_heads": 2}],
)
def test_a_layer_that_is_half_latent_is_refused(changes):
    changes = {"kv_lora_rank": 8} | changes if "num_kv_heads" in changes else changes
    with pytest.raises(ConfigError, match="one key head and a kv_lora_rank of 1 to its head size"):
        attention.TritonAttention(replace(SPEC, **changes), Settings(plugin="x", values={"batch_invariant": False}))


def test_a_latent_layer_has_the_scale_of_its_keys_alone():
    spec = replace(SPEC, kind="mla", kv_lora_rank=8, cache_dtype="e4m3fn", cache_scales="tensor")
    made = attention.TritonAttention(spec, Settings(plugin="x", values={"batch_invariant": False}))
    made.set_cache_scales(0.5, 3.0)
    assert made.scales == (0.5, 0.5)


def test_a_target_that_cannot_run_a_layer_says_why(monkeypatch):
    monkeypatch.setattr(attention, "target_of", lambda device: TARGETS["gfx1100"])
    spec = MLAAttentionSpec(
        block_size=4, num_kv_heads=1, head_size=16, page_bytes=1 << 12, dtype="float32", kv_lora_rank=8
    )
    latent = replace(SPEC, kind="mla", kv_lora_rank=8)
    made = attention.TritonAttention(latent, Settings(plugin="x", values={"batch_invariant": False}))
    with pytest.raises(ConfigError, match=r"gfx1100 has no registers .* --attention-backend"):
        made.allocate_cache(spec, 2, "cpu")
