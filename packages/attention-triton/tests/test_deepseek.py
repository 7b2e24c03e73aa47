"""Latent attention against the layer that `transformers` computes, which expands keys and values of each head."""

from __future__ import annotations

import pytest
import torch
from transformers import DeepseekV3Config
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek

from kernelet.contracts.attention import AttentionOffer, AttentionSpec
from kernelet.testing.attention.steps import PagedRequests
from kernelet.testing.offered import find_offer

RANK, ROTATED, NOPE, VALUE, HEADS, HIDDEN, TOKENS = 24, 8, 12, 10, 5, 32, 41


class Cache:
    """Keeps what the layer would."""

    def update(self, latent, rotated, *_, **__):
        self.kept = torch.cat((latent, rotated), -1)[0, 0]
        return latent, rotated


@pytest.fixture
def layer():
    torch.manual_seed(0)
    config = DeepseekV3Config(
        hidden_size=HIDDEN,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        q_lora_rank=None,
        kv_lora_rank=RANK,
        qk_rope_head_dim=ROTATED,
        qk_nope_head_dim=NOPE,
        v_head_dim=VALUE,
        attn_implementation="eager",
    )
    made = deepseek.DeepseekV3Attention(config, 0).eval()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return made


@pytest.mark.long
@pytest.mark.parametrize("invariant", [False, True])
@torch.no_grad()
def test_the_layer_of_transformers(layer, invariant):
    hidden, cache = torch.randn(1, TOKENS, HIDDEN), Cache()
    rope = deepseek.DeepseekV3RotaryEmbedding(layer.config)(hidden, torch.arange(TOKENS)[None])
    mask = torch.full((TOKENS, TOKENS), -torch.inf).triu(1)[None, None]
    wanted = layer(hidden, rope, mask, cache=cache)[0][0]

    query = layer.q_proj(hidden).view(1, TOKENS, HEADS, NOPE + ROTATED).transpose(1, 2)
    turned, _ = deepseek.apply_rotary_pos_emb_interleave(query[..., NOPE:], query[..., NOPE:], *rope)
    up_key, up_value = layer.kv_b_proj.weight.view(HEADS, NOPE + VALUE, RANK).split((NOPE, VALUE), 1)
    absorbed = torch.cat((query[0, ..., :NOPE] @ up_key, turned[0]), -1).transpose(0, 1)
    spec = AttentionSpec(
        kind="mla",
        num_heads=HEADS,
        num_kv_heads=1,
        head_size=RANK + ROTATED,
        dtype="float32",
        block_size=16,
        scale=layer.scaling,
        kv_lora_rank=RANK,
    )
    offered = find_offer("kernelet_attention_triton.plugin", AttentionOffer, "triton", batch_invariant=invariant)
    mine, found = PagedRequests(offered, spec, "cpu"), []
    for start, stop in ((0, 23), (23, 39), (39, 40), (40, 41)):
        step = mine.plan({"other": 1, "a": stop - start})
        step.query[step.rows("a")], step.key[step.rows("a"), 0] = absorbed[start:stop], cache.kept[start:stop]
        found.append(mine.run(step)[step.rows("a")])
    values = torch.einsum("thr,hvr->thv", torch.cat(found), up_value)
    torch.testing.assert_close(layer.o_proj(values.flatten(1)), wanted, rtol=1e-4, atol=1e-4)
