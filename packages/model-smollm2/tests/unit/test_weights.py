from __future__ import annotations

import gguf
import numpy as np
import pytest
import torch
from transformers.models.llama.modeling_llama import LlamaConfig, LlamaRotaryEmbedding, apply_rotary_pos_emb

from kernelet.errors import ModelNotFoundError
from kernelet_model_smollm2.weights import checkpoint_name, heads_of, undo_rotary_order


def test_names_agree_with_the_table_of_the_format():
    table = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, 2)
    theirs = [
        *("model.embed_tokens.weight", "model.norm.weight"),
        *(f"model.layers.1.self_attn.{part}_proj.weight" for part in "qkvo"),
        *(f"model.layers.1.mlp.{part}_proj.weight" for part in ("gate", "up", "down")),
        *(f"model.layers.1.{part}_layernorm.weight" for part in ("input", "post_attention")),
    ]
    for name in theirs:
        assert checkpoint_name(table.get_name(name, try_suffixes=(".weight",))) == name


@pytest.mark.parametrize(
    "name", ["output.weight", "blk.0.attn_q.bias", "blk.0.ffn_gate_exps.weight", "rope_freqs.weight"]
)
def test_unexpected_tensor(name):
    with pytest.raises(ModelNotFoundError, match=name):
        checkpoint_name(name)


def test_only_q_and_k_are_reordered():
    fields = {"llama.attention.head_count": 9, "llama.attention.head_count_kv": 3}
    heads = {name: heads_of(f"blk.4.{name}.weight", fields) for name in ("attn_q", "attn_k", "attn_v", "attn_output")}
    assert heads == {"attn_q": 9, "attn_k": 3, "attn_v": None, "attn_output": None}


def test_rotation_of_neighbours_is_rotation_of_halves():
    """Rotating neighbouring rows of the file's order equals what transformers does in its own order."""
    heads, dim, hidden, tokens = 3, 8, 5, 6
    random = np.random.default_rng(1)
    stored = random.normal(size=(heads * dim, hidden)).astype(np.float32)
    states = random.normal(size=(tokens, hidden)).astype(np.float32)
    # as llama.cpp: pair i of a head is (2i, 2i + 1), turned by position / base ** (2i / dim)
    rows = (states @ stored.T).reshape(tokens, heads, dim // 2, 2)
    angle = np.arange(tokens)[:, None] / 10000.0 ** (np.arange(0, dim, 2) / dim)
    turned = (rows[..., 0] + 1j * rows[..., 1]) * np.exp(1j * angle)[:, None]
    config = LlamaConfig(
        hidden_size=heads * dim,
        num_attention_heads=heads,
        head_dim=dim,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )
    ours = torch.from_numpy((states @ undo_rotary_order(stored, heads).T).reshape(1, tokens, heads, dim))
    cos, sin = LlamaRotaryEmbedding(config)(ours, torch.arange(tokens)[None])
    rotated, _ = apply_rotary_pos_emb(ours, ours, cos, sin, unsqueeze_dim=2)
    expected = np.concatenate([turned.real, turned.imag], axis=-1)
    np.testing.assert_allclose(rotated[0].numpy(), expected, rtol=1e-5, atol=1e-5)
