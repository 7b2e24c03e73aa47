"""A tiny model, device, attention and plugin view for tests of the worker; and the model's truth without any cache."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import torch

from kernelet.config import CacheConfig, EngineConfig, GraphConfig, ModelConfig, PluginsConfig, SchedulerConfig
from kernelet.contracts.attention import Attention, AttentionOffer, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.graphs import CapturesDecode
from kernelet.contracts.model import Hidden, ModelArchitectureOffer, ModelInfo, WeightFormatOffer, WeightReader
from kernelet.contracts.platform import (
    Device,
    MeasuresMemory,
    MemoryInfo,
    MovesWeights,
    PlatformOffer,
    RecordsEvents,
    SharesHost,
)
from kernelet.testing.op.graph import record
from kernelet.testing.plugin_view import FixedPlugins

VOCAB, SIZE, HEADS, BLOCK, WINDOW = 48, 8, 2, 4, 6
POISON = 7
"""A token whose embedding is NaN."""


class PlainDevice(Device):
    """Host memory; counts its calls."""

    def __init__(self, settings, local_rank):
        self.calls = []

    def init(self):
        self.calls.append("init")

    def get_device_name(self):
        return "plain"

    @property
    def tensor_device(self):
        return torch.device("cpu")

    def memory(self):
        return MemoryInfo(total=1 << 30, free=1 << 29)

    def manual_seed(self, seed):
        self.calls.append(f"seed {seed}")

    def synchronize(self):
        self.calls.append("synchronize")

    def close(self):
        self.calls.append("close")


class PlainAttention(Attention):
    """One token at a time, through the block table."""

    def allocate_cache(self, spec, num_blocks, device):
        return torch.zeros(num_blocks, spec.block_size, 2, spec.num_kv_heads, spec.head_size, dtype=torch.float64)

    def copy_blocks(self, cache, sources, destinations):
        cache[list(destinations)] = cache[list(sources)]

    def build_metadata(self, batch, device):
        return batch

    def write_kv(self, key, value, cache, metadata):
        for row, slot in enumerate(metadata.slot_mapping.tolist()):
            assert slot >= BLOCK, "nothing may be written to the null block"
            cache[slot // BLOCK, slot % BLOCK] = torch.stack([key[row], value[row]])

    def forward(self, query, cache, metadata, sinks=None):
        out = torch.empty_like(query)
        starts = metadata.query_start_loc.tolist()
        for row, (start, stop) in enumerate(itertools.pairwise(starts)):
            length = int(metadata.seq_lens[row])
            for token in range(start, stop):
                position = length - stop + token
                low = 0 if self.spec.window is None else max(0, position - self.spec.window + 1)
                seen = [cache[metadata.block_table[row, p // BLOCK], p % BLOCK] for p in range(low, position + 1)]
                keys, values = torch.stack(seen).unbind(1)
                out[token] = dense(query[token], keys, values, self.spec.scale)
        return out


class RecordedAttention(PlainAttention, CapturesDecode):
    """Also in tensors alone, for steps that are recorded: all rows at once, masked."""

    def decode_metadata(self, num_requests, num_blocks, device):
        return SimpleNamespace(
            slots=torch.zeros(num_requests, dtype=torch.int64),
            table=torch.zeros(num_requests, num_blocks, dtype=torch.int64),
            lengths=torch.ones(num_requests, dtype=torch.int64),
        )

    def refill(self, metadata, batch):
        metadata.slots.copy_(torch.from_numpy(batch.slot_mapping))
        metadata.table.copy_(torch.from_numpy(batch.block_table))
        metadata.lengths.copy_(torch.from_numpy(batch.seq_lens))

    def write_kv(self, key, value, cache, metadata):
        if not isinstance(metadata, SimpleNamespace):
            return super().write_kv(key, value, cache, metadata)
        flat = cache.view(-1, *cache.shape[2:])
        return flat.index_copy_(0, metadata.slots, torch.stack([key, value], 1))

    def forward(self, query, cache, metadata, sinks=None):
        if not isinstance(metadata, SimpleNamespace):
            return super().forward(query, cache, metadata, sinks)
        keys, values = cache[metadata.table].flatten(1, 2).unbind(2)
        position = torch.arange(keys.shape[1])
        seen = position < metadata.lengths[:, None]
        if self.spec.window is not None:
            seen &= position >= metadata.lengths[:, None] - self.spec.window
        scores = torch.einsum("rhd,rthd->rht", query, keys) * self.spec.scale
        weights = scores.masked_fill(~seen[:, None], -torch.inf).softmax(-1)
        return torch.einsum("rht,rthd->rhd", weights, values)


def dense(query, keys, values, scale):
    """[heads, size] against [tokens, heads, size]."""
    weights = torch.einsum("hd,thd->ht", query, keys).mul(scale).softmax(-1)
    return torch.einsum("ht,thd->hd", weights, values)


class TinyLayer:
    def __init__(self, index, window, weights):
        self.name = f"layers.{index}"
        self.window = window
        self.weights = weights
        self.spec = AttentionSpec(
            kind="full" if window is None else "sliding",
            num_heads=HEADS,
            num_kv_heads=HEADS,
            head_size=SIZE // HEADS,
            dtype="float64",
            block_size=BLOCK,
            scale=0.7,
            window=window,
        )

    def cache_spec(self):
        common = {"block_size": BLOCK, "page_bytes": 2 * BLOCK * SIZE * 8, "num_kv_heads": HEADS}
        common |= {"head_size": SIZE // HEADS, "dtype": "float64"}
        return FullAttentionSpec(**common) if self.window is None else SlidingWindowSpec(**common, window=self.window)

    def bind(self, attention, cache, group):
        self.bound = (attention, cache, group)

    def qkv(self, x):
        return (x @ self.weights[:3]).unflatten(-1, (HEADS, -1))


class TinyModel(torch.nn.Module):
    """Two layers, one of them with a window; weights come from the reader."""

    def __init__(self, context):
        super().__init__()
        self.context = context
        self.passes = []
        context.record("tiny", "linear", "plain")

    def attention_layers(self):
        return self.layers

    def load_weights(self, reader):
        self.embedding = reader.read("embedding")
        yield "embedding"
        weights = reader.read("layers")
        self.layers = [TinyLayer(0, None, weights[0]), TinyLayer(1, WINDOW, weights[1])]
        yield "layers"

    def embed(self, ids, positions):
        waves = torch.sin(positions[:, None].double() * torch.arange(1, SIZE + 1) * 0.37)
        return self.embedding[ids] + 0.5 * waves

    def forward(self, inputs):
        self.passes.append(len(inputs.token_ids))
        x = self.embed(inputs.token_ids, inputs.positions)
        for layer in self.layers:
            attention, cache, group = layer.bound
            query, key, value = layer.qkv(x)
            metadata = inputs.attention[group]
            attention.write_kv(key, value, cache, metadata)
            x = x + torch.tanh(attention.forward(query, cache, metadata).flatten(1) @ layer.weights[3])
        return Hidden(states=x)

    def compute_logits(self, states):
        return states @ torch.nan_to_num(self.embedding).T * 2.0


def true_logits(model, tokens):
    """Logits of every position of one sequence, with no cache."""
    return model.compute_logits(true_states(model, tokens))


def true_states(model, tokens):
    """States of every position of one sequence, with no cache."""
    ids, positions = torch.tensor(tokens), torch.arange(len(tokens))
    x = model.embed(ids, positions)
    for layer in model.layers:
        query, key, value = layer.qkv(x)
        rows = []
        for p in range(len(tokens)):
            low = 0 if layer.window is None else max(0, p - layer.window + 1)
            rows.append(dense(query[p], key[low : p + 1], value[low : p + 1], layer.spec.scale).flatten())
        x = x + torch.tanh(torch.stack(rows) @ layer.weights[3])
    return x


def true_greedy(model, prompt, count):
    """Greedy continuation, with no cache."""
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(true_logits(model, tokens)[-1].argmax()))
    return tokens[len(prompt) :]


class TinyReader(WeightReader):
    """Random weights, the same for every folder."""

    def __init__(self, folder):
        generator = torch.Generator().manual_seed(5)
        embedding = torch.randn(VOCAB, SIZE, generator=generator, dtype=torch.float64)
        embedding[POISON] = torch.nan
        layers = torch.randn(2, 4, SIZE, SIZE, generator=generator, dtype=torch.float64) * 0.6
        self.tensors = {"embedding": embedding, "layers": layers}

    def names(self):
        return list(self.tensors)

    def shape(self, name):
        return tuple(self.tensors[name].shape)

    def read(self, name, rows=None):
        return self.tensors[name] if rows is None else self.tensors[name][rows]

    def nbytes(self, name=None):
        return sum(tensor.nbytes for key, tensor in self.tensors.items() if name in {None, key})


def describe(config):
    return ModelInfo(vocab_size=VOCAB, max_model_len=64, num_layers=2, hidden_size=SIZE, row="tiny-row")


class TinyPlugins(FixedPlugins):
    """The tiny model's offers and further ones; ``target`` names an attribute of ``targets``."""

    def __init__(self, *more, **targets):
        offers = [
            PlatformOffer(name="plain", target="device", probe="", config="", worker=""),
            AttentionOffer(name="plain", target="attention", kinds=frozenset({"full", "sliding"})),
            AttentionOffer(name="other", target="", kinds=frozenset({"full", "sliding"})),
            ModelArchitectureOffer(name="Tiny", target="model", describe="describe"),
            WeightFormatOffer(name="tiny", target="reader", patterns=("*.tiny",)),
        ]
        given = {
            "device": PlainDevice,
            "attention": PlainAttention,
            "model": TinyModel,
            "describe": describe,
            "reader": TinyReader,
        }
        super().__init__([*offers, *more], given | targets, plugin="tiny")


def engine_config(folder, *, max_num_seqs=4, max_model_len=64, processors=(), graphs=None):
    return EngineConfig(
        model=ModelConfig(
            model="tiny",
            path=str(folder),
            architecture="Tiny",
            hf_config={},
            dtype="float64",
            vocab_size=VOCAB,
            max_model_len=max_model_len,
            num_layers=2,
            seed=3,
        ),
        cache=CacheConfig(block_size=BLOCK, memory_bytes=1 << 18),
        scheduler=SchedulerConfig(max_num_seqs=max_num_seqs, max_num_batched_tokens=32),
        plugins=PluginsConfig(logits_processors=processors),
        graphs=graphs or GraphConfig(),
    )


class GraphDevice(PlainDevice, RecordsEvents, MeasuresMemory, MovesWeights):
    """Records graphs of torch's operations, and can do all that a device with its own memory can."""

    PEAK = 1 << 20

    def copy_async(self, source, destination):
        self.calls.append("copy")
        super().copy_async(source, destination)

    def record(self):
        return lambda: self.calls.append("wait")

    def reset_peak(self):
        self.calls.append("reset peak")

    def peak(self):
        return self.PEAK

    def capture(self, fn):
        self.calls.append("capture")
        graph = record(fn)

        def replay():
            self.calls.append("replay")
            graph()

        return replay

    def offload(self, tensors):
        kept = [tensor.clone() for tensor in tensors]
        for tensor in tensors:
            tensor.fill_(torch.nan)
        self.calls.append(f"offload {len(tensors)}")

        def bring_back():
            for tensor, values in zip(tensors, kept, strict=True):
                tensor.copy_(values)

        return bring_back

    def release(self):
        self.calls.append("release")


class SharingDevice(PlainDevice, SharesHost):
    """Knows with how many it shares the machine."""

    def share_host(self, local_size):
        self.calls.append(f"shared by {local_size}")
