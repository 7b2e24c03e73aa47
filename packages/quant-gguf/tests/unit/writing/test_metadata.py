from __future__ import annotations

import math

import pytest
import torch
from gguf_families import BANDS, LONG

from kernelet.errors import UnsupportedModelError
from kernelet.layers.rope_scaling import RopeParameters, inverse_frequencies
from kernelet_quant_gguf.architectures import SERVED
from kernelet_quant_gguf.ropes import FACTORS, SHORT
from kernelet_quant_gguf.ropes import LONG as LONG_NAME
from kernelet_quant_gguf.writing.metadata import architecture_for, check, fields_of

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "vocab_size": 99,
}


def fields(model="LlamaForCausalLM", head_size=16, **more):
    return fields_of(SERVED[model], LLAMA | more, head_size)


def test_a_llama():
    said, factors = fields()
    assert said == {
        "general.architecture": "llama",
        "general.name": "llama",
        "llama.context_length": 64,
        "llama.embedding_length": 64,
        "llama.block_count": 3,
        "llama.feed_forward_length": 96,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "llama.attention.key_length": 16,
        "llama.attention.value_length": 16,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.vocab_size": 99,
        "llama.rope.freq_base": 10000.0,
        "llama.rope.dimension_count": 16,
    }
    assert not factors


def test_models_that_files_have_no_name_for():
    with pytest.raises(UnsupportedModelError, match="OddForCausalLM cannot be written as a GGUF file; served are"):
        architecture_for({"architectures": ["OddForCausalLM"]})
    assert architecture_for(LLAMA).gguf == "llama"


@pytest.mark.parametrize("theta", [500.0, 500_000.0])
def test_bands_of_llama_3_are_a_factor_a_wavelength(theta):
    _, factors = fields(rope_parameters={"rope_type": "llama3", "rope_theta": theta, **BANDS})
    plain = RopeParameters(scaling="default", size=16, theta=theta, max_model_len=64, trained_len=64)
    banded = RopeParameters(scaling="banded", size=16, theta=theta, max_model_len=64, trained_len=64, options=BANDS)
    expected = inverse_frequencies(plain)[0] / inverse_frequencies(banded)[0]
    assert torch.allclose(torch.tensor(factors[FACTORS]), expected, rtol=1e-5)


def test_long_and_short_factors():
    given = {"rope_type": "longrope", "original_max_position_embeddings": 16, **LONG}
    said, factors = fields("Phi3ForCausalLM", rope_scaling=given)
    assert factors == {LONG_NAME: LONG["long_factor"], SHORT: LONG["short_factor"]}
    assert said["phi3.rope.scaling.attn_factor"] == pytest.approx(math.sqrt(1 + math.log(4) / math.log(16)))
    assert said["phi3.attention.sliding_window"] == 0


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_type": "dynamic", "factor": 2.0},
        {"rope_type": "longrope", **LONG},
        {"rope_type": "yarn", "factor": 2.0, "mscale": 0.7},
    ],
)
def test_scalings_that_cannot_be_said(rope):
    with pytest.raises(UnsupportedModelError, match=rf"rope scaling '{rope['rope_type']}'.*'llama'"):
        fields(rope_parameters=rope)


def test_windows_of_another_pattern_are_listed():
    gemma = {"sliding_window": 7, "head_dim": 16}
    said, _ = fields("Gemma3ForCausalLM", **gemma, sliding_window_pattern=2)
    assert said["gemma3.attention.sliding_window_pattern"] == [True, False, True]
    usual, _ = fields("Gemma3ForCausalLM", **gemma)
    assert "gemma3.attention.sliding_window_pattern" not in usual
    assert usual["gemma3.rope.freq_base_swa"] == 10000.0


def test_a_window_that_is_off_is_none():
    said, _ = fields("Qwen2ForCausalLM", sliding_window=7, use_sliding_window=False)
    assert not any("window" in key for key in said)


@pytest.mark.parametrize(
    "model, given, back",
    [
        ("Qwen2ForCausalLM", {"use_sliding_window": True, "sliding_window": 7}, {}),
        ("Gemma2ForCausalLM", {"query_pre_attn_scalar": 20}, {"query_pre_attn_scalar": 16}),
        ("Qwen3MoeForCausalLM", {"norm_topk_prob": False}, {"norm_topk_prob": True}),
        ("Qwen3MoeForCausalLM", {"mlp_only_layers": [1]}, {"mlp_only_layers": []}),
        ("LlamaForCausalLM", {"clip_qkv": 3.0}, {}),
        ("SmolLM3ForCausalLM", {"no_rope_layers": [1, 0, 1]}, {"no_rope_layer_interval": 4, "num_hidden_layers": 3}),
    ],
)
def test_what_a_file_cannot_say_is_refused(model, given, back):
    with pytest.raises(UnsupportedModelError, match=f"({'|'.join(given)}) = .* cannot be said"):
        check(SERVED[model], LLAMA | given, back)


def test_activations_are_those_of_the_architecture():
    check(SERVED["LlamaForCausalLM"], {"hidden_act": "silu"}, {})
    check(SERVED["PhiForCausalLM"], {"hidden_act": "gelu_pytorch_tanh"}, {})
    with pytest.raises(UnsupportedModelError, match=r"the activation 'gelu'.*llama is 'silu'"):
        check(SERVED["LlamaForCausalLM"], {"hidden_act": "gelu"}, {})


def test_what_changes_nothing_is_said_by_silence():
    given = {"layer_types": ["full_attention"] * 3, "sliding_window": None, "residual_multiplier": 1.0}
    check(SERVED["LlamaForCausalLM"], LLAMA | given | {"num_local_experts": 0}, {})
