from __future__ import annotations

import pytest
import torch

from kernelet.layers.attention import QKVHeads
from kernelet.layers.linear import ReplicatedLinear
from kernelet.layers.moe import Experts, Routing
from kernelet.layers.norm import RMSNorm
from kernelet.layers.rope_scaling import RopeParameters
from kernelet.layers.rotary import RopeTable
from kernelet.layers.weights import Shard
from kernelet.testing.tensors import make_context

D = torch.float64


def fill(layer, seed=0):
    generator = torch.Generator().manual_seed(seed)
    values = []
    for weight in layer.weights():
        value = torch.randn(weight.shape, generator=generator, dtype=D)
        weight.write("test", value)
        values.append(value)
    layer.finish()
    return values


class Recorder:
    def write_kv(self, key, value, cache, metadata):
        self.key, self.value = key.clone(), value.clone()


def test_add_norm_returns_norm_and_sum():
    context = make_context(dtype=D)
    norm = RMSNorm(context, "norm", Shard.whole(4), 1e-5)
    fill(norm)
    residual, x = torch.randn(3, 4, dtype=D), torch.randn(3, 4, dtype=D)
    normed, total = context.ops.add_norm(residual, x, 0.5, norm)
    assert torch.equal(total, residual + 0.5 * x)
    assert torch.equal(normed, norm.forward(total))


@pytest.mark.parametrize("gated", [True, False])
def test_mlp_is_its_formula(gated):
    context = make_context(dtype=D)
    up = ReplicatedLinear(context, "up", 4, 12, bias=True)
    down = ReplicatedLinear(context, "down", 6 if gated else 12, 4)
    up_weight, up_bias = fill(up)
    (down_weight,) = fill(down, 1)
    x = torch.randn(3, 4, dtype=D)
    middle = x @ up_weight.T + up_bias
    if gated:
        expected = (middle[:, :6].relu() * middle[:, 6:]) @ down_weight.T
        found = context.ops.gated_mlp(x, up, down, "relu")
    else:
        expected = middle.relu() @ down_weight.T
        found = context.ops.mlp(x, up, down, "relu")
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("norm", [None, "head", "whole"])
@pytest.mark.parametrize("rotated", [True, False])
@pytest.mark.parametrize("clip", [None, 0.3])
def test_qkv_rope_write(norm, rotated, clip):
    context = make_context(dtype=D)
    heads, kv, size = 4, 2, 6
    norms = (None, None)
    if norm:
        sizes = (size, size) if norm == "head" else (heads * size, kv * size)
        norms = tuple(RMSNorm(context, f"norm{i}", Shard.whole(n), 1e-5) for i, n in enumerate(sizes))
        for layer in norms:
            fill(layer)
    rope = None
    if rotated:
        parameters = RopeParameters(scaling="default", size=4, theta=100.0, max_model_len=9, trained_len=9)
        rope = RopeTable(context, parameters).rows(torch.tensor([0, 7, 3]))
    qkv = torch.randn(3, (heads + 2 * kv) * size, dtype=D)
    given = QKVHeads(
        num_heads=heads,
        num_kv_heads=kv,
        head_size=size,
        q_norm=norms[0],
        k_norm=norms[1],
        clip=clip,
        whole=norm == "whole",
    )
    attention = Recorder()
    query = context.ops.qkv_rope_write(qkv.clone(), given, rope, attention, None, None)

    clipped = qkv if clip is None else qkv.clamp(-clip, clip)
    expected = list(clipped.split((heads * size, kv * size, kv * size), -1))
    for index in range(2):
        shape = (3, -1, size) if norm == "head" else (3, -1)
        if norm:
            expected[index] = norms[index].forward(expected[index].reshape(shape))
        expected[index] = expected[index].reshape(3, -1, size)
        if rope:
            expected[index] = context.ops.rotary(expected[index].clone(), rope)
    torch.testing.assert_close(query, expected[0])
    torch.testing.assert_close(attention.key, expected[1])
    torch.testing.assert_close(attention.value, expected[2].reshape(3, kv, size))


@pytest.mark.parametrize("router", ["softmax_top_k", "top_k_softmax"])
def test_moe_is_a_weighted_sum_of_experts(router):
    context = make_context(dtype=D)
    experts = Experts(context, "experts", num_experts=5, hidden=4, middle=6, activation="silu")
    gate_up, down = fill(experts)
    x, logits = torch.randn(7, 4, dtype=D), torch.randn(7, 5, dtype=D)
    routing = Routing(router=router, top_k=2, scale=1.5)
    found = context.ops.moe(x, logits, experts, routing)
    expected = torch.zeros_like(x)
    for row in range(7):
        scores = logits[row].softmax(-1)
        best = scores.argsort(descending=True)[:2]
        total = scores[best].sum() if router == "top_k_softmax" else 1.0
        for expert in best:
            gate, up = (gate_up[expert] @ x[row]).chunk(2)
            middle = torch.nn.functional.silu(gate) * up
            expected[row] += 1.5 * scores[expert] / total * (down[expert] @ middle)
    torch.testing.assert_close(found, expected)
    alone = context.ops.moe(x[3:4], logits[3:4], experts, routing)
    torch.testing.assert_close(alone, found[3:4], rtol=1e-13, atol=1e-13)


def test_decoder_layer_and_attention_call_what_they_are_given():
    ops = make_context().ops

    class Layer:
        def compose(self, residual, step):
            return residual + step

    class Seen:
        def forward(self, query, cache, metadata, sinks):
            return query, cache, metadata, sinks

    assert ops.decoder_layer(Layer(), 2, 3) == 5
    assert ops.attention(1, Seen(), 2, 3, 4) == (1, 2, 3, 4)
