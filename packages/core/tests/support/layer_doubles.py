"""Stand-ins for plugins, slow and obvious: a view with one dense kernel, and attention over a paged cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from kernelet.config import ModelConfig
from kernelet.contracts.attention import Attention, AttentionBatch, AttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import OpOffer, Support, WeightKernel, WeightKernelOffer
from kernelet.contracts.plugins import Choice, Owned
from kernelet.layers.context import ModelContext, TensorParallel
from kernelet.layers.dtypes import dtype_name
from kernelet.layers.ops import OpTable

SETTINGS = Settings(plugin="double")


class DenseKernel(WeightKernel):
    """``x @ w.T``, a row at a time in the code's own words."""

    @classmethod
    def supports(cls, role, scheme, dtype, shape):
        return Support(ok=True)

    def prepare(self, weights):
        return weights["weight"]

    def apply(self, x, prepared, bias):
        if self.role == "embedding":
            return prepared[x]
        y = x @ prepared.T
        return y if bias is None else y + bias

    def apply_grouped(self, x, prepared, expert):
        return x @ prepared[expert].T


@dataclass
class Plugins:
    """A plugin view that offers a dense kernel for everything, and the ops given."""

    ops: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    kernel: type[WeightKernel] = DenseKernel
    asked: list[tuple[str, str, tuple[int, ...]]] = field(default_factory=list)

    def settings(self, plugin):
        return Settings(plugin=plugin)

    def load(self, owned, target=None):
        target = target or owned.offer.target
        return self.kernel if target == "doubles:Dense" else self.ops[target]

    def select_weight_kernel(self, role, scheme, dtype, shape):
        self.asked.append((role, dtype, shape))
        offer = WeightKernelOffer(name="dense", target="doubles:Dense")
        return Choice(chosen=Owned(offer=offer, plugin="doubles"), reason="only one", refused={"packed": "not today"})

    def select_op(self, op, dtype):
        if op not in self.ops:
            return None
        offer = OpOffer(name=f"my-{op}", target=op, op=op)
        return Choice(chosen=Owned(offer=offer, plugin="doubles"), reason="only one", refused={"other": "slower"})


def make_context(
    hf_config: Mapping[str, Any] | None = None,
    *,
    architecture: str = "",
    max_model_len: int = 64,
    dtype: torch.dtype = torch.float32,
    plugins: Plugins | None = None,
    rank: int = 0,
    size: int = 1,
    communicator: Any = None,
    block_size: int = 4,
) -> ModelContext:
    """A context on the CPU."""
    values = dict(hf_config or {})
    config = ModelConfig(
        model="test",
        path="",
        architecture=architecture,
        hf_config=values,
        dtype=dtype_name(dtype),
        vocab_size=values.get("vocab_size", 0),
        max_model_len=max_model_len,
        num_layers=values.get("num_hidden_layers", 0),
    )
    plugins = plugins or Plugins()
    return ModelContext(
        config=config,
        dtype=dtype,
        device="cpu",
        ops=OpTable(plugins, dtype_name(dtype)),
        plugins=plugins,
        parallel=TensorParallel(rank=rank, size=size, communicator=communicator),
        block_size=block_size,
    )


class SlowAttention(Attention):
    """Attention that gathers what each request sees and computes a plain softmax.

    The null block is full of NaN, so that reading a dropped block shows.
    """

    def __init__(self, spec: AttentionSpec, settings: Settings = SETTINGS) -> None:
        super().__init__(spec, settings)

    def allocate_cache(self, spec, num_blocks, device):
        dtype = getattr(torch, spec.dtype)
        cache = torch.zeros(2, num_blocks, spec.block_size, spec.num_kv_heads, spec.head_size, dtype=dtype)
        cache[:, 0] = torch.nan
        return cache

    def build_metadata(self, batch, device):
        return batch

    def write_kv(self, key, value, cache, metadata):
        blocks, offsets = np.divmod(metadata.slot_mapping, self.spec.block_size)
        cache[0][blocks, offsets] = key
        cache[1][blocks, offsets] = value

    def forward(self, query, cache, metadata: AttentionBatch, sinks=None):
        outputs = []
        for index, length in enumerate(metadata.seq_lens.tolist()):
            start, end = metadata.query_start_loc[index : index + 2].tolist()
            outputs.append(self._request(query[start:end], cache, metadata.block_table[index], length, sinks))
        return torch.cat(outputs)

    def _request(self, query, cache, table, length, sinks):
        spec = self.spec
        first = length - len(query)
        lowest = 0 if spec.window is None else max(0, first - spec.window + 1)
        positions = np.arange(lowest, length)
        blocks, offsets = table[positions // spec.block_size], positions % spec.block_size
        keys, values = cache[0][blocks, offsets], cache[1][blocks, offsets]
        repeat = spec.num_heads // spec.num_kv_heads
        keys, values = keys.repeat_interleave(repeat, 1), values.repeat_interleave(repeat, 1)
        scores = torch.einsum("qhd,khd->hqk", query, keys) * spec.scale
        if spec.soft_cap is not None:
            scores = spec.soft_cap * torch.tanh(scores / spec.soft_cap)
        seen = torch.arange(first, length)[:, None] - torch.from_numpy(positions)
        visible = (seen >= 0) if spec.window is None else (seen >= 0) & (seen < spec.window)
        scores = scores.masked_fill(~visible, -torch.inf)
        if sinks is not None:
            column = sinks.to(scores.dtype)[:, None, None].expand(-1, len(query), 1)
            scores = torch.cat((scores, column), -1)
        weights = scores.softmax(-1)[..., : len(positions)]
        return torch.einsum("hqk,khd->qhd", weights, values)
