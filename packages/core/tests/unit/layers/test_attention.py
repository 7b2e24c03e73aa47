from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelet.contracts.attention import AttentionBatch
from kernelet.contracts.cache import FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.model import AttentionLayer as Contract
from kernelet.layers.attention import AttentionLayer, LayerWatch, QKVHeads
from kernelet.layers.linear import QKVLinear, RowParallelLinear
from kernelet.layers.step import Step
from kernelet.layers.weights import layers_of
from kernelet.testing.attention.reference import SlowAttention
from kernelet.testing.tensors import make_context

D = torch.float64


def make(context, **options):
    qkv = QKVLinear(context, "attn.qkv_proj", 8, num_heads=4, num_kv_heads=2, head_size=6)
    output = RowParallelLinear(context, "attn.o_proj", 24, 8)
    heads = QKVHeads(num_heads=qkv.num_heads, num_kv_heads=qkv.num_kv_heads, head_size=6)
    return AttentionLayer(context, "attn", qkv=qkv, output=output, heads=heads, scale=0.3, rope=None, **options)


def load(layer):
    generator = torch.Generator().manual_seed(0)
    for part in layers_of(layer):
        for weight in part.weights():
            weight.write("x", torch.randn(weight.shape, generator=generator, dtype=D))
        part.finish()


def test_specs_state_what_the_layer_needs():
    full = make(make_context(dtype=torch.bfloat16))
    assert isinstance(full, Contract)
    assert (full.spec.kind, full.spec.window, full.spec.scale, full.spec.sinks) == ("full", None, 0.3, False)
    assert full.cache_spec() == FullAttentionSpec(
        block_size=4, page_bytes=2 * 4 * 2 * 6 * 2, num_kv_heads=2, head_size=6, dtype="bfloat16"
    )
    sliding = make(make_context(size=2, rank=1), window=7, soft_cap=2.0, sinks="attn.sinks")
    spec = sliding.spec
    assert (spec.kind, spec.window, spec.soft_cap, spec.sinks) == ("sliding", 7, 2.0, True)
    assert (spec.num_heads, spec.num_kv_heads) == (2, 1)
    assert sliding.cache_spec() == SlidingWindowSpec(
        block_size=4, page_bytes=2 * 4 * 1 * 6 * 4, num_kv_heads=1, head_size=6, dtype="float32", window=7
    )


def test_an_unbound_layer_says_so():
    layer = make(make_context())
    with pytest.raises(RuntimeError, match="attn: bind"):
        layer.forward(torch.zeros(1, 8), Step({}, {}))


@pytest.mark.parametrize("cuts", [[9], [4, 5], [1] * 9])
@pytest.mark.parametrize("sinks", [None, "attn.sinks"])
def test_layer_is_plain_causal_attention_however_it_is_cut(cuts, sinks):
    layer = make(make_context(dtype=D), sinks=sinks)
    load(layer)
    attention = SlowAttention(layer.spec)
    layer.bind(attention, attention.allocate_cache(layer.cache_spec(), 4, "cpu"), 3)
    x = torch.randn(9, 8, dtype=D, generator=torch.Generator().manual_seed(4))
    table, found, done = np.array([[2, 1, 3]], dtype=np.int32), [], 0
    for count in cuts:
        positions = np.arange(done, done + count)
        batch = AttentionBatch(
            query_start_loc=np.array([0, count], dtype=np.int32),
            seq_lens=np.array([done + count], dtype=np.int32),
            block_table=table,
            slot_mapping=table[0][positions // 4].astype(np.int64) * 4 + positions % 4,
        )
        metadata = {3: attention.build_metadata(batch, "cpu")}
        found.append(layer.forward(x[done : done + count], Step(metadata, {})))
        done += count
    query, key, value = layer.qkv.forward(x).split((24, 12, 12), -1)
    query = query.view(9, 4, 6).transpose(0, 1)
    key, value = (t.view(9, 2, 6).transpose(0, 1).repeat_interleave(2, 0) for t in (key, value))
    scores = (query @ key.transpose(1, 2) * 0.3).masked_fill(torch.ones(9, 9).triu(1).bool(), -torch.inf)
    weights = scores.exp()
    total = weights.sum(-1, keepdim=True)
    if sinks:
        total = total + layer.sinks.exp()[:, None, None]
    mixed = (weights / total @ value).transpose(0, 1).reshape(9, 24)
    torch.testing.assert_close(torch.cat(found), layer.output.forward(mixed))


def test_who_watches_is_told_before_pages_are_used_and_after():
    layer = make(make_context(dtype=D))
    load(layer)
    seen = []

    class Noting(SlowAttention):
        def write_kv(self, *values):
            seen.append("write")
            super().write_kv(*values)

        def forward(self, *values):
            seen.append("read")
            return super().forward(*values)

    class Watching(LayerWatch):
        def before(self, layer):
            seen.append(f"before {layer}")

        def after(self, layer):
            seen.append(f"after {layer}")

    attention = Noting(layer.spec)
    layer.bind(attention, attention.allocate_cache(layer.cache_spec(), 4, "cpu"), 0)
    batch = AttentionBatch(
        query_start_loc=np.array([0, 1], dtype=np.int32),
        seq_lens=np.array([1], dtype=np.int32),
        block_table=np.array([[1]], dtype=np.int32),
        slot_mapping=np.array([4], dtype=np.int64),
    )
    layer.watch = Watching()
    layer.forward(torch.ones(1, 8, dtype=D), Step({0: batch}, {}))
    assert seen == ["before attn", "write", "read", "after attn"]
