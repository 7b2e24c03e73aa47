from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet_platform_cpu.attention.backend import TorchPagedAttention


def reference(query, keys, values, positions, spec, sinks=None):
    """One query and head at a time, in float64 on Python's terms; [n, heads, size] against [tokens, kv_heads, size]."""
    out = torch.zeros(query.shape, dtype=torch.float64)
    group = spec.num_heads // spec.num_kv_heads
    for row, position in enumerate(positions):
        low = 0 if spec.window is None else max(0, position - spec.window + 1)
        for head in range(spec.num_heads):
            scores = []
            for key in keys[low : position + 1, head // group].double():
                score = float(query[row, head].double() @ key) * spec.scale
                scores.append(score if spec.soft_cap is None else spec.soft_cap * math.tanh(score / spec.soft_cap))
            extra = [] if sinks is None else [float(sinks[head])]
            top = max(scores + extra)
            weights = [math.exp(score - top) for score in scores]
            total = sum(weights) + sum(math.exp(score - top) for score in extra)
            for weight, value in zip(weights, values[low : position + 1, head // group].double(), strict=True):
                out[row, head] += weight / total * value
    return out


class Harness:
    """A cache shared by requests of random content; blocks are given out in random order and poisoned with NaN."""

    def __init__(self, spec, num_blocks=64, seed=0):
        self.spec = spec
        self.random = np.random.default_rng(seed)
        self.dtype = getattr(torch, spec.dtype)
        self.torch = torch.Generator().manual_seed(seed)
        self.attention = TorchPagedAttention(spec, Settings(plugin="platform-cpu"))
        size = 2 * spec.block_size * spec.num_kv_heads * spec.head_size * self.dtype.itemsize
        cache_spec = FullAttentionSpec(
            block_size=spec.block_size,
            page_bytes=size,
            num_kv_heads=spec.num_kv_heads,
            head_size=spec.head_size,
            dtype=spec.dtype,
        )
        self.cache = self.attention.allocate_cache(cache_spec, num_blocks, torch.device("cpu"))
        self.cache[1:] = torch.nan
        self.free = list(self.random.permutation(np.arange(1, num_blocks)))
        self.tables = {}
        self.keys = {}
        self.values = {}
        self.sinks = self.draw(spec.num_heads) if spec.sinks else None

    def draw(self, *shape):
        return torch.randn(shape, generator=self.torch, dtype=torch.float64).to(self.dtype)

    def step(self, counts, every=1):
        """Runs one step of ``{request: tokens}``; returns outputs and expected ones of every so many-th query."""
        spec = self.spec
        queries, slots, lengths, new_keys, new_values = [], [], [], [], []
        for name, count in counts.items():
            shape = (0, spec.num_kv_heads, spec.head_size)
            before = self.keys.get(name, torch.zeros(shape, dtype=self.dtype))
            key, value = (self.draw(count, spec.num_kv_heads, spec.head_size) for _ in range(2))
            self.keys[name] = torch.cat([before, key])
            self.values[name] = torch.cat([self.values.get(name, before), value])
            length = len(self.keys[name])
            table = self.tables.setdefault(name, [])
            while len(table) * spec.block_size < length:
                table.append(int(self.free.pop()))
            queries.append(self.draw(count, spec.num_heads, spec.head_size))
            new_keys.append(key)
            new_values.append(value)
            lengths.append(length)
            slots += [
                table[p // spec.block_size] * spec.block_size + p % spec.block_size
                for p in range(length - count, length)
            ]
        width = max(len(self.tables[name]) for name in counts)
        batch = AttentionBatch(
            query_start_loc=np.cumsum([0, *counts.values()]).astype(np.int32),
            seq_lens=np.array(lengths, dtype=np.int32),
            block_table=np.array(
                [self.visible(name, n) + [0] * (width - len(self.tables[name])) for name, n in counts.items()],
                dtype=np.int32,
            ),
            slot_mapping=np.array(slots, dtype=np.int64),
        )
        metadata = self.attention.build_metadata(batch, torch.device("cpu"))
        self.attention.write_kv(torch.cat(new_keys), torch.cat(new_values), self.cache, metadata)
        got = self.attention.forward(torch.cat(queries), self.cache, metadata, self.sinks)
        starts = batch.query_start_loc
        picked = [np.arange(n)[::every] for n in counts.values()]
        expected = [
            reference(
                query[rows],
                self.keys[name],
                self.values[name],
                rows + len(self.keys[name]) - len(query),
                spec,
                self.sinks,
            )
            for name, query, rows in zip(counts, queries, picked, strict=True)
        ]
        got = got[np.concatenate([start + rows for start, rows in zip(starts, picked, strict=False)])]
        return got, torch.cat(expected), metadata

    def visible(self, name, count):
        """The block table with every block dropped that no query of the step can see."""
        table = list(self.tables[name])
        if self.spec.window is not None:
            first = max(0, len(self.keys[name]) - count - self.spec.window + 1) // self.spec.block_size
            table[:first] = [0] * first
        return table


def make_spec(**changes):
    values = {
        "kind": "sliding" if changes.get("window") else "full",
        "num_heads": 4,
        "num_kv_heads": 2,
        "head_size": 8,
        "dtype": "float64",
        "block_size": 4,
        "scale": 0.4,
    }
    return AttentionSpec(**{**values, **changes})


@pytest.fixture
def harness():
    return Harness


@pytest.fixture
def spec():
    return make_spec
