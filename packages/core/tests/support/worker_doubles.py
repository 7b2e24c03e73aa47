"""A tiny model, device, attention and plugin view for tests of the worker; and the model's truth without any cache."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import torch

from kernelet.cache.sizing import plan_cache
from kernelet.config import CacheConfig, EngineConfig, GraphConfig, ModelConfig, PluginsConfig, SchedulerConfig
from kernelet.contracts.attention import Attention, AttentionOffer, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.executor import NewRequest, SamplePlan, ScheduledRequest, StepPlan, WorkerContext
from kernelet.contracts.graphs import CapturesDecode
from kernelet.contracts.model import Hidden, ModelArchitectureOffer, ModelInfo, WeightFormatOffer, WeightReader
from kernelet.contracts.platform import (
    Capabilities,
    Device,
    MeasuresMemory,
    MemoryInfo,
    MovesWeights,
    PlatformChoice,
    PlatformOffer,
    RecordsEvents,
    SharesHost,
)
from kernelet.contracts.sampling import SamplerParams
from kernelet.testing.op.graph import record
from kernelet.testing.plugin_view import FixedPlugins
from kernelet.worker.worker import ModelWorker

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


def worker_context(folder, plugins=None, features=frozenset(), **values):
    """What a worker is made from, its configuration and further parts."""
    (folder / "weights.tiny").touch()
    config = engine_config(folder, **values)
    capabilities = Capabilities(device_type="plain", dtypes=("float64",), memory_bytes=1 << 30, features=features)
    platform = PlatformChoice(name="plain", capabilities=capabilities)
    return WorkerContext(config=config, platform=platform, plugins=plugins or TinyPlugins())


def make_worker(folder, plugins=None, features=frozenset(), **values):
    """A worker that is ready for steps, built in the contract's order."""
    context = worker_context(folder, plugins, features, **values)
    worker, config = ModelWorker(context), context.config
    worker.init_device()
    worker.load_model()
    plan = plan_cache(worker.get_kv_cache_spec(), config, worker.determine_available_memory())
    worker.initialize_from_config(plan)
    worker.compile_or_warm_up_model()
    return worker


class Driver:
    """Writes plans by hand: gives out blocks, keeps count, and collects what comes back."""

    def __init__(self, worker):
        self.worker = worker
        self.requests = {}
        self.step = 0
        self.free = [itertools.count(2), itertools.count(2)]

    def add(self, name, prompt, pooling=None, **params):
        values = {"seed": 11, "temperature": 0.0, **params}
        self.requests[name] = SimpleNamespace(
            params=SamplerParams(**values), prompt=list(prompt), tokens=list(prompt), computed=0, blocks=[0, 0],
            epoch=0, known=False, pending=0, error=None, logprobs=[], prompt_logprobs=[], pooling=pooling, pooled=None,
        )  # fmt: skip

    def plan(self, counts, finished=(), preempted=(), copies=()):
        """The next step's plan; ``counts`` gives tokens by request, None for all that are left."""
        new, scheduled = [], []
        for name in preempted:
            request = self.requests[name]
            request.known, request.computed, request.blocks = False, 0, [0, 0]
            request.epoch += 1
        for name, count in counts.items():
            request = self.requests[name]
            total = len(request.tokens) + request.pending
            count = total - request.computed if count is None else count
            end = request.computed + count
            added = tuple(
                [next(free) for _ in range(-(-end // BLOCK) - held)]
                for free, held in zip(self.free, request.blocks, strict=True)
            )
            request.blocks = [-(-end // BLOCK)] * 2
            if not request.known:
                new.append(
                    NewRequest(
                        request_id=name,
                        token_ids=list(request.tokens),
                        num_prompt_tokens=len(request.prompt),
                        num_computed_tokens=0,
                        block_ids=added,
                        params=request.params,
                        epoch=request.epoch,
                        pooling=request.pooling,
                    )
                )
            sample = end == total and request.pooling is None
            scheduled.append(
                ScheduledRequest(
                    request_id=name,
                    num_tokens=count,
                    num_computed_tokens=request.computed,
                    new_block_ids=added if request.known else (),
                    sample=sample,
                    epoch=request.epoch,
                )
            )
            request.known, request.computed = True, end
            request.pending += sample
        self.step += 1
        return StepPlan(
            step=self.step, new=tuple(new), scheduled=tuple(scheduled), finished=tuple(finished),
            preempted=tuple(preempted), copies=tuple(copies),
        )  # fmt: skip

    def take(self, plan, masks=None):
        result = self.worker.sample(SamplePlan(step=plan.step, mask_rows=masks or {}))
        assert result.step == plan.step
        assert [entry.request_id for entry in result.requests] == [entry.request_id for entry in plan.scheduled]
        for sampled, entry in zip(result.requests, plan.scheduled, strict=True):
            request = self.requests[sampled.request_id]
            assert sampled.epoch == entry.epoch
            request.error = request.error or sampled.error
            if sampled.error is None:
                assert len(sampled.token_ids) == int(entry.sample)
            request.tokens += sampled.token_ids
            request.pending -= entry.sample
            request.logprobs += sampled.logprobs or []
            request.prompt_logprobs += sampled.prompt_logprobs or []
            request.pooled = sampled.pooled or request.pooled
        return result

    def run(self, counts, masks=None, **values):
        """One step from plan to result."""
        plan = self.plan(counts, **values)
        self.worker.execute_model(plan)
        return self.take(plan, masks)

    def output(self, name):
        request = self.requests[name]
        return request.tokens[len(request.prompt) :]


def prompt_of(seed, length):
    """Random token ids without the poisoned one."""
    ids = np.random.default_rng(seed).integers(0, VOCAB, length)
    return [int(i) if i != POISON else 0 for i in ids]


def log_softmax(row):
    """Of a list of floats, by the definition."""
    top = max(row)
    total = sum(math.exp(x - top) for x in row)
    return [x - top - math.log(total) for x in row]
