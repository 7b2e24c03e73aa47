from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from kernelet.errors import UnsupportedModelError
from kernelet_models_decoder.resolve import resolve
from kernelet_models_decoder.rows import GEMMA2, GRANITE, LLAMA, QWEN3_MOE, SMOLLM3

SIZES = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}


def test_sizes_and_defaults():
    spec = resolve(LLAMA, SIZES)
    assert (spec.num_kv_heads, spec.head_size, spec.attention_scale) == (4, 8, 8**-0.5)
    assert [(layer.window, layer.rope, layer.experts) for layer in spec.layers] == [(None, "model", False)] * 4
    assert not spec.tied
    assert spec.norm_eps == 1e-6


@pytest.mark.parametrize("key", SIZES)
def test_a_missing_size_is_named(key):
    with pytest.raises(UnsupportedModelError, match=key):
        resolve(LLAMA, {name: value for name, value in SIZES.items() if name != key})


def test_heads_that_do_not_divide_are_named():
    with pytest.raises(UnsupportedModelError, match="num_key_value_heads = 3"):
        resolve(LLAMA, SIZES | {"num_key_value_heads": 3})


def test_multipliers():
    spec = resolve(GRANITE, SIZES | {"attention_multiplier": 0.3, "logits_scaling": 4.0, "embedding_multiplier": 12.0})
    assert (spec.attention_scale, spec.logits_scale, spec.embedding_scale) == (0.3, 0.25, 12.0)
    assert not spec.embedding_rounded
    gemma = resolve(GEMMA2, SIZES | {"head_dim": 8, "query_pre_attn_scalar": 16, "sliding_window": 5})
    assert (gemma.attention_scale, gemma.embedding_scale, gemma.embedding_rounded) == (0.25, 32**0.5, True)
    assert [layer.window for layer in gemma.layers] == [5, None, 5, None]


def test_layers_without_rotation_and_with_experts():
    spec = resolve(SMOLLM3, SIZES | {"no_rope_layers": [1, 0, 0, 1]})
    assert [layer.rope for layer in spec.layers] == ["model", None, None, "model"]
    moe = {"decoder_sparse_step": 2, "moe_intermediate_size": 24, "num_experts": 6, "num_experts_per_tok": 3}
    spec = resolve(QWEN3_MOE, SIZES | moe)
    assert [layer.experts for layer in spec.layers] == [False, True, False, True]
    assert (spec.experts.count, spec.experts.top_k, spec.experts.size) == (6, 3, 24)
    assert spec.experts.router == "softmax_top_k"
    assert spec.mlp.kind == "gated"


@pytest.mark.parametrize(
    "key, value",
    [
        ("hidden_act", "swiglu_oai"),
        ("clip_qkv", 8.0),
        ("sliding_window", 4096),
        ("quantization_config", {"quant_method": "x"}),
        ("final_logit_softcapping", 30.0),
        ("num_local_experts", 8),
        ("layer_types", ["full_attention", "sliding_attention", "full_attention", "full_attention"]),
    ],
)
def test_a_value_that_the_row_does_not_serve_is_named(key, value):
    with pytest.raises(UnsupportedModelError, match=key):
        resolve(LLAMA, SIZES | {key: value})


@pytest.mark.parametrize("column", ["rope", "rope_layers"])
def test_an_unknown_component_is_named(column):
    with pytest.raises(UnsupportedModelError, match=f"{column}.*'other'"):
        resolve(dataclasses.replace(LLAMA, **{column: "other"}), SIZES)


def test_no_torch_is_needed():
    code = "import sys; sys.modules['torch'] = None; import kernelet_models_decoder.plugin, kernelet_models_decoder."
    subprocess.run([sys.executable, "-c", code + "description"], check=True)
