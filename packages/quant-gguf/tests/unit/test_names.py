from __future__ import annotations

import numpy as np
import pytest
from gguf_files import LLAMA, tensors_of, values_of, write_gguf
from hypothesis import given
from hypothesis import strategies as st

from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet_quant_gguf.architectures import SERVED
from kernelet_quant_gguf.file import GGUFFile
from kernelet_quant_gguf.names import Order, architecture_of, order_of, pieces_of


def pieces(path, name="LlamaForCausalLM"):
    file = GGUFFile.read(path)
    return pieces_of(SERVED[name], file, file.fields)


@given(heads=st.integers(1, 5), half=st.integers(1, 4))
def test_rotated_rows_are_those_that_the_converter_moved(heads, half):
    rows = np.arange(heads * 2 * half)
    # as llama.cpp's converter does it, https://github.com/ggml-org/llama.cpp/blob/master/conversion/llama.py
    stored = rows.reshape(heads, 2, half).swapaxes(1, 2).reshape(rows.shape)
    axes, turned = Order(heads, 2).stored(len(rows))
    assert np.array_equal(stored.reshape(axes).transpose(turned).flatten(), rows)


@given(heads=st.integers(1, 5), size=st.integers(1, 4))
def test_heads_of_query_key_and_value_are_brought_together(heads, size):
    rows = np.arange(heads * 3 * size).reshape(heads, 3, size)
    stored = np.concatenate([rows[:, part].flatten() for part in range(3)])
    axes, turned = Order(heads, 3, outside=True).stored(rows.size)
    assert np.array_equal(stored.reshape(axes).transpose(turned), rows)


def test_rows_that_are_no_heads_are_refused():
    with pytest.raises(WeightsError, match="33 rows are not those of 4 heads"):
        Order(4, 2).stored(33)


def test_only_what_is_rotated_is_moved():
    assert order_of(SERVED["LlamaForCausalLM"], "attn_k", 4, 2) == Order(2, 2)
    assert order_of(SERVED["LlamaForCausalLM"], "attn_v", 4, 2) is None
    assert order_of(SERVED["Qwen2ForCausalLM"], "attn_q", 4, 2) is None
    assert order_of(SERVED["GPTNeoXForCausalLM"], "attn_qkv", 4, 4) == Order(4, 3, outside=True)


def test_a_llama(tmp_path):
    found = pieces(write_gguf(tmp_path / "m.gguf"))
    assert set(found) == {
        "model.embed_tokens.weight",
        "model.norm.weight",
        *(f"model.layers.0.self_attn.{one}_proj.weight" for one in "qkvo"),
        *(f"model.layers.0.mlp.{one}_proj.weight" for one in ("gate", "up", "down")),
        "model.layers.0.input_layernorm.weight",
        "model.layers.0.post_attention_layernorm.weight",
    }
    assert found["model.layers.0.self_attn.q_proj.weight"].order == Order(4, 2)
    assert found["model.layers.0.self_attn.k_proj.weight"].stored == (16, 32)


def test_buffers_are_no_weights_and_unknown_tensors_are_refused(tmp_path):
    buffers = {name: values_of((4,)) for name in ("rope_freqs.weight", "rope_factors_long.weight")}
    assert "model.norm.weight" in pieces(write_gguf(tmp_path / "m.gguf", tensors_of() | buffers))
    for name in ("blk.0.ssm_a.weight", "mm.0.weight", "blk.0.attn_q.scale", "blk.0.attn_qkv_norm.weight"):
        path = write_gguf(tmp_path / "x.gguf", {name: values_of((4, 32))})
        with pytest.raises(UnsupportedModelError, match=name.replace(".", r"\.")):
            pieces(path)


def test_stacked_experts_and_older_files_with_one_tensor_an_expert(tmp_path):
    stacked = pieces(write_gguf(tmp_path / "m.gguf", {"blk.0.ffn_up_exps.weight": values_of((3, 5, 32))}), MIXTRAL)
    apart = {f"blk.0.ffn_up.{number}.weight": values_of((5, 32)) for number in range(3)}
    assert set(stacked) == set(pieces(write_gguf(tmp_path / "o.gguf", apart), MIXTRAL))
    last = stacked["model.layers.0.block_sparse_moe.experts.2.w3.weight"]
    assert (last.first, last.shape) == (10, (5, 32))


MIXTRAL = "MixtralForCausalLM"


def test_query_key_and_value_in_one_tensor_are_taken_apart(tmp_path):
    found = pieces(write_gguf(tmp_path / "m.gguf", {"blk.0.attn_qkv.weight": values_of((64, 32))}))
    places = {name.split(".")[4]: (piece.first, piece.shape, piece.order) for name, piece in found.items()}
    assert places == {
        "q_proj": (0, (32, 32), Order(4, 2)),
        "k_proj": (32, (16, 32), Order(2, 2)),
        "v_proj": (48, (16, 32), None),
    }


def test_the_file_decides_among_architectures_of_one_name(tmp_path):
    def name(**fields):
        path = write_gguf(tmp_path / "m.gguf", {}, fields=LLAMA | fields)
        return architecture_of(GGUFFile.read(path)).hf

    assert name() == "LlamaForCausalLM"
    assert name(**{"attention.sliding_window": 9}) == "MistralForCausalLM"
    assert name(expert_count=8) == "MixtralForCausalLM"


def test_an_architecture_that_is_not_served_is_named(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", {}, architecture="mamba")
    with pytest.raises(UnsupportedModelError, match=r"m\.gguf.*'mamba', which is not served; served are cohere2"):
        architecture_of(GGUFFile.read(path))
