"""A layer in one call has the bits of its composition; what is served and what is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from kernelet.contracts.attention import AttentionBatch
from kernelet.contracts.offer import Settings
from kernelet.layers.attention import AttentionLayer, LayerWatch, make_heads
from kernelet.layers.linear import ColumnParallelLinear, MergedLinear, QKVLinear, RowParallelLinear
from kernelet.layers.mlp import GatedMLP, PlainMLP
from kernelet.layers.norm import LayerNorm, RMSNorm
from kernelet.layers.rope_scaling import RopeParameters
from kernelet.layers.rotary import RopeTable
from kernelet.layers.step import PreNormParts, Step
from kernelet.layers.weights import Shard, layers_of
from kernelet_platform_cpu.attention.native_backend import NativePagedAttention
from kernelet_platform_cpu.ops import decoder

HIDDEN, MIDDLE, HEADS, KV_HEADS, SIZE, BLOCK = 40, 56, 6, 2, 16, 4
DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64]
SETTINGS = Settings(plugin="platform-cpu")


@dataclass
class Layer:
    """A layer with a norm before each block."""

    parts: PreNormParts
    ops: Any
    index: int = 0
    composed: int = 0

    def compose(self, residual, step):
        self.composed += 1
        parts = self.parts
        mixed = parts.attention.forward(parts.attention_norm.forward(residual), step)
        x, residual = self.ops.add_norm(residual, mixed, parts.scale, parts.mlp_norm)
        return self.ops.add(residual, parts.mlp.forward(x), parts.scale)


def make_layer(context, *, norm=RMSNorm, gated=True, bias=False, qk=None, scale=1.0, clip=None, **attention):
    def make_norm(name, size):
        return norm(context, name, Shard.whole(size), 1e-5)

    qkv = QKVLinear(context, "qkv", HIDDEN, num_heads=HEADS, num_kv_heads=KV_HEADS, head_size=SIZE, bias=bias)
    sizes = (HEADS * SIZE, KV_HEADS * SIZE) if qk == "whole" else (SIZE, SIZE)
    norms = tuple(make_norm(f"{part}_norm", size) for part, size in zip("qk", sizes, strict=True)) if qk else None
    output = RowParallelLinear(context, "output", HEADS * SIZE, HIDDEN, bias=bias)
    heads = make_heads(qkv, SIZE, norms, whole=qk == "whole", clip=clip)
    options = {"scale": SIZE**-0.5, "rope": "rope"} | attention
    mixer = AttentionLayer(context, "attention", qkv=qkv, output=output, heads=heads, **options)
    down = RowParallelLinear(context, "down", MIDDLE, HIDDEN, bias=bias)
    if gated:
        up = MergedLinear(context, "up", HIDDEN, {"gate": MIDDLE, "up": MIDDLE}, bias=bias)
        mlp = GatedMLP(context, "mlp", gate_up=up, down=down, activation="silu")
    else:
        up = ColumnParallelLinear(context, "up", HIDDEN, MIDDLE, bias=bias)
        mlp = PlainMLP(context, "mlp", up=up, down=down, activation="gelu_tanh")
    names = ("attention_norm", "mlp_norm")
    first, second = (make_norm(name, HIDDEN) for name in names)
    parts = PreNormParts(attention_norm=first, attention=mixer, mlp_norm=second, mlp=mlp, scale=scale)
    for number, part in enumerate([first, second, *layers_of(mixer), *layers_of(mlp)]):
        for weight in part.weights():
            generator = torch.Generator().manual_seed(number)
            drawn = torch.randn(tuple(weight.shape), generator=generator)
            weight.write("drawn", drawn * 0.2 if weight.inputs else 1 + drawn * 0.2)
        part.finish()
    return Layer(parts, context.ops)


def bind(layer, dtype):
    """A cache of its own, and the metadata of some steps: a prompt of 70 beside one of 3, then a token each."""
    attention = NativePagedAttention(layer.parts.attention.spec, SETTINGS)
    cache = attention.allocate_cache(layer.parts.attention.cache_spec(), 64, torch.device("cpu"))
    layer.parts.attention.bind(attention, cache, 0)
    tables = np.arange(1, 41, dtype=np.int32).reshape(2, 20)
    for counts, lengths in (((70, 3), (70, 3)), ((1, 1), (71, 4)), ((0, 0), (71, 4))):
        positions = [np.arange(length - count, length) for count, length in zip(counts, lengths, strict=True)]
        slots = [tables[row][p // BLOCK] * BLOCK + p % BLOCK for row, p in enumerate(positions)]
        batch = AttentionBatch(
            query_start_loc=np.cumsum((0, *counts)).astype(np.int32),
            seq_lens=np.array(lengths, dtype=np.int32),
            block_table=tables,
            slot_mapping=np.concatenate(slots).astype(np.int64),
        )
        yield attention.build_metadata(batch, None), torch.from_numpy(np.concatenate(positions))


def steps_of(context, layer, dtype):
    parameters = RopeParameters(scaling="default", size=SIZE, theta=500.0, max_model_len=128, trained_len=128)
    table = RopeTable(context, parameters)
    for metadata, positions in bind(layer, dtype):
        residual = torch.randn(len(positions), HIDDEN, generator=torch.Generator().manual_seed(len(positions)))
        yield Step({0: metadata}, {"rope": table.rows(positions)}), residual.to(table.table.dtype)


def hold(context, dtype, *, served=True, **options):
    made = context(dtype, block_size=BLOCK)
    layer = make_layer(made, **options)
    op = decoder.NativeDecoderLayer(SETTINGS)
    at_once, composed = [], []
    for step, residual in steps_of(made, layer, dtype):
        before = residual.clone()
        at_once.append(op(layer, residual, step))
        assert torch.equal(residual, before)
    assert layer.composed == (0 if served else len(at_once))
    composed = [layer.compose(residual, step) for step, residual in steps_of(made, layer, dtype)]
    for found, expected in zip(at_once, composed, strict=True):
        assert found.dtype is expected.dtype
        assert found.shape == expected.shape
        assert found.isfinite().all()
        assert torch.equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm": LayerNorm, "bias": True, "gated": False, "scale": 0.25},
        {"qk": "head", "rope": None},
        {"qk": "head", "window": 9, "soft_cap": 2.0, "sinks": "sinks"},
    ],
)
def test_one_call_has_the_bits_of_the_composition(context, dtype, options):
    hold(context, dtype, **options)


class Watching(LayerWatch):
    """Notes what it is told, and whether pages were written by then."""

    def __init__(self, cache):
        self.cache, self.calls = cache, []

    def before(self, layer):
        self.calls.append(("before", layer, bool(self.cache.any())))

    def after(self, layer):
        self.calls.append(("after", layer, bool(self.cache.any())))


def test_who_watches_a_layer_is_told_though_it_is_computed_at_once(context):
    made = context(torch.float32, block_size=BLOCK)
    layer = make_layer(made)
    step, residual = next(steps_of(made, layer, torch.float32))
    watch = layer.parts.attention.watch = Watching(layer.parts.attention.bound[1])
    op = decoder.NativeDecoderLayer(SETTINGS)
    op(layer, residual, step)
    assert layer.composed == 0
    assert watch.calls == [("before", "attention", False), ("after", "attention", True)]
    layer.parts.attention.watch = None
    op(layer, residual, step)
    assert len(watch.calls) == 2


@pytest.mark.parametrize("options", [{"qk": "whole"}, {"clip": 0.5}, {"qk": "head", "norm": LayerNorm}])
def test_layers_that_compose_themselves(context, options):
    hold(context, torch.bfloat16, served=False, **options)


def test_a_layer_that_does_not_say_what_it_is_made_of(context):
    context(torch.float32)

    class Unknown:
        index = 0

        def compose(self, residual, step):
            return residual + step

    assert decoder.NativeDecoderLayer(SETTINGS)(Unknown(), torch.ones(1, 2), 3).tolist() == [[4.0, 4.0]]


def test_a_weight_of_another_kernel_is_composed(context):
    made = context(torch.float32, block_size=BLOCK)
    layer = make_layer(made)
    assert decoder.fuse(layer) is None, "it has no cache yet"
    list(bind(layer, torch.float32))
    assert decoder.fuse(layer) is not None
    layer.parts.mlp.down.prepared = torch.zeros(HIDDEN, MIDDLE)
    assert decoder.fuse(layer) is None


def test_weights_and_caches_may_change(context):
    made = context(torch.float32, block_size=BLOCK)
    layer, op = make_layer(made), decoder.NativeDecoderLayer(SETTINGS)
    (step, residual), *_ = steps_of(made, layer, torch.float32)
    first = op(layer, residual, step)
    down = layer.parts.mlp.down
    down.prepared = down.kernel.prepare({"weight": torch.zeros(HIDDEN, MIDDLE)})
    found = op(layer, residual, step)
    assert not torch.equal(found, first)
    assert torch.equal(found, layer.compose(residual, step))
    (step, residual), *_ = steps_of(made, layer, torch.float32)
    assert torch.equal(op(layer, residual, step), found)
    assert layer.composed == 1
