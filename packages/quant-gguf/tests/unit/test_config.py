from __future__ import annotations

import pytest
from gguf_blocks import usual_bytes
from gguf_files import LLAMA, tensors_of, values_of, write_gguf

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.config import hf_config, module_of, rounded
from kernelet_quant_gguf.file import GGUFFile
from kernelet_quant_gguf.names import architecture_of


@pytest.fixture
def config(tmp_path):
    def made(tensors=None, *, without=(), architecture="llama", **fields):
        said = {key: value for key, value in (LLAMA | fields).items() if key not in without}
        file = GGUFFile.read(write_gguf(tmp_path / "m.gguf", tensors, said, tokens=False, architecture=architecture))
        return hf_config(architecture_of(file), file)

    return made


def test_a_llama(config):
    assert config() == {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "max_position_embeddings": 64,
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "intermediate_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-05,
        "vocab_size": 264,
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "head_dim": 8,
        "rope_theta": 10000.0,
        "torch_dtype": "float32",
    }


def test_numbers_are_what_they_were_before_they_were_float32():
    assert rounded(9.999999747378752e-06) == 1e-05
    assert rounded(0.06250000186264515) == 0.0625


def test_what_is_missing_is_named(config):
    for key in ("embedding_length", "attention.layer_norm_rms_epsilon"):
        with pytest.raises(UnsupportedModelError, match=rf"m\.gguf does not say llama\.{key}"):
            config(without=(key,))
    with pytest.raises(UnsupportedModelError, match=r"holds no token_embd\.weight"):
        config({"output_norm.weight": values_of((32,))})


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"attention.head_count": [4, 2]}, "llama.attention.head_count of the file differs from layer to layer"),
        ({"logit_scale": 2.0}, r"llama\.logit_scale = 2\.0 is not served for LlamaForCausalLM"),
        ({"attention.causal": False}, r"llama\.attention\.causal = False"),
        ({"attention.key_length": 8, "attention.value_length": 6}, "keys of 8 and values of 6"),
        ({"rope.dimension_count": 4}, "4 of 8 elements of a head are rotated"),
        ({"nextn_predict_layers": 1}, "nextn_predict_layers = 1"),
    ],
)
def test_what_is_not_served_is_named(config, fields, message):
    with pytest.raises(UnsupportedModelError, match=message):
        config(**fields)


def test_values_that_change_nothing_are_taken(config):
    plain = config()
    assert config(**{"logit_scale": 1.0, "attention.causal": True, "rope.dimension_count": 8}) == plain
    assert config(**{"attention.head_count": [4, 4]}) == plain


def test_heads_of_another_size(config):
    assert config(**{"attention.key_length": 16, "attention.value_length": 16})["head_dim"] == 16
    with pytest.raises(UnsupportedModelError, match="heads of 16 elements are not served for Qwen2ForCausalLM"):
        config(architecture="qwen2", **{"attention.key_length": 16})


def test_biases_come_all_or_none(config):
    biases = {f"blk.0.attn_{one}.bias": values_of((4,)) for one in ("q", "k", "v", "output")}
    assert config(tensors_of() | biases)["attention_bias"] is True
    biases.pop("blk.0.attn_output.bias")
    with pytest.raises(UnsupportedModelError, match=r"a bias for attn_q, .* \(blk\.0\.attn_output\.bias\)"):
        config(tensors_of() | biases)


def test_a_head_of_its_own(config):
    assert config(tensors_of() | {"output.weight": values_of((264, 32))})["tie_word_embeddings"] is False


def test_types_are_listed_by_module(config):
    tensors = tensors_of() | {
        "blk.0.attn_v.weight": (usual_bytes("Q4_1", 16, 32, 1), "Q4_1"),
        "token_embd.weight": (usual_bytes("Q8_0", 264, 32, 1), "Q8_0"),
    }
    said = {"model.layers.0.self_attn.v_proj": "Q4_1", "model.embed_tokens": "Q8_0"}
    found = config(tensors)
    assert found["quantization_config"] == {"quant_method": "gguf", "types": said | {"lm_head": "Q8_0"}}
    assert found["torch_dtype"] == "bfloat16"
    untied = config(tensors | {"output.weight": values_of((264, 32))})
    assert untied["quantization_config"]["types"] == said


def test_experts_have_one_entry():
    assert module_of("model.layers.3.mlp.experts.17.up_proj.weight") == "model.layers.3.mlp.experts.*.up_proj"
    assert module_of("model.layers.3.mlp.up_proj.weight") == "model.layers.3.mlp.up_proj"


def gemma3(config, layers, **fields):
    said = {"block_count": layers, "attention.key_length": 8, "attention.value_length": 8} | fields
    return config(architecture="gemma3", **said)


def test_windows_of_gemma(config):
    found = gemma3(config, 7, **{"attention.sliding_window": 5})
    assert [kind.partition("_")[0] for kind in found["layer_types"]] == ["sliding"] * 5 + ["full", "sliding"]
    assert (found["sliding_window"], found["query_pre_attn_scalar"]) == (5, 8)
    listed = gemma3(config, 2, **{"attention.sliding_window": 5, "attention.sliding_window_pattern": [False, True]})
    assert listed["layer_types"] == ["full_attention", "sliding_attention"]
    assert gemma3(config, 2)["layer_types"] == ["full_attention"] * 2
    with pytest.raises(UnsupportedModelError, match="pattern of windows is of 2 layers, not 3"):
        gemma3(config, 3, **{"attention.sliding_window": 5, "attention.sliding_window_pattern": [False, True]})


def test_the_largest_gemma_scales_queries_by_the_hidden_size(config):
    assert gemma3(config, 62, embedding_length=40)["query_pre_attn_scalar"] == 10


@pytest.mark.parametrize("turned", [1, 29, 49, 98, 126, 127])
def test_the_rotated_share_gives_the_number_back(config, turned):
    said = {"embedding_length": 508, "rope.dimension_count": turned, "attention.layer_norm_epsilon": 1e-5}
    assert int(127 * config(architecture="stablelm", **said)["partial_rotary_factor"]) == turned


def test_a_window_of_zero_is_none(config):
    tensors = {name: value for name, value in tensors_of().items() if "blk" not in name}
    assert config(tensors, architecture="phi3", **{"attention.sliding_window": 0})["sliding_window"] is None
    assert config(tensors, architecture="phi3", **{"attention.sliding_window": 7})["sliding_window"] == 7
