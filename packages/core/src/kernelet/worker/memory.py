"""How much memory a step takes besides weights and cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from kernelet.config import EngineConfig
from kernelet.contracts.attention import Attention
from kernelet.contracts.cache import CacheConfigPlan, CacheGroup, LayerCacheSpec
from kernelet.contracts.model import AttentionLayer, Model, StepInputs
from kernelet.contracts.platform import Device, MeasuresMemory
from kernelet.layers.weights import layers_of, weights_of
from kernelet.worker.dummy import SCRATCH_BLOCK, dummy_arrays
from kernelet.worker.kv_cache import KVCaches

COPIES = 4
"""Tensors as wide as the widest layer that are alive at once: its input, output, and two on the way."""

LOGITS_COPIES = 4
"""The model's logits, their float form, scaled probabilities and one temporary."""


def activation_bytes(model: Model, config: EngineConfig) -> int:
    """Estimate for the largest step that the configuration allows.

    What attention gathers is not in it; that is in proportion to one layer's cache, and the share of memory that
    ``memory_utilization`` leaves is for it.
    """
    width = _widest(model, config.model.vocab_size)
    return _item(config) * COPIES * width * config.scheduler.max_num_batched_tokens + sampling_bytes(config)


def sampling_bytes(config: EngineConfig) -> int:
    """Estimate of what logits take until they are tokens."""
    return _item(config) * LOGITS_COPIES * config.model.vocab_size * _rows(config)


@torch.inference_mode()
def measured_bytes(
    device: Device,
    config: EngineConfig,
    model: Model,
    caches: KVCaches,
    layers: Sequence[AttentionLayer],
    attention: Mapping[str, Attention],
) -> int:
    """What the largest steps take that the configuration allows, over a cache of one block; bytes.

    One computes prompts, the other a token of each request, one of which has the whole context behind it.

    Args:
        device: Measures.
        config: The engine's.
        model: With its weights; its layers are bound to no cache.
        caches: Empty, before and after.
        layers: All that keep something.
        attention: Of each layer, by its name.
    """
    assert isinstance(device, MeasuresMemory)
    groups: dict[LayerCacheSpec, list[str]] = {}
    for name, spec in caches.specs(layers).items():
        groups.setdefault(spec, []).append(name)
    plan = CacheConfigPlan(
        groups=tuple(
            CacheGroup(spec=spec, layers=tuple(names), num_blocks=SCRATCH_BLOCK + 1) for spec, names in groups.items()
        )
    )
    caches.allocate(layers, attention, plan)
    total, longest = config.scheduler.max_num_batched_tokens, config.model.max_model_len
    prompts = [longest] * (total // longest) + [total % longest] * bool(total % longest)
    rows, block_sizes = _rows(config), [group.spec.block_size for group in plan.groups]
    device.reset_peak()
    for arrays in (
        dummy_arrays(prompts, block_sizes),
        dummy_arrays([1] * rows, block_sizes, [longest] + [1] * (rows - 1)),
    ):
        inputs = StepInputs(
            token_ids=torch.from_numpy(arrays.token_ids).to(device.tensor_device),
            positions=torch.from_numpy(arrays.positions).to(device.tensor_device),
            attention=caches.build_metadata(arrays.groups),
        )
        model.compute_logits(model.forward(inputs).states[:rows])
    device.synchronize()
    peak = device.peak()
    caches.release(layers, attention)
    return peak + sampling_bytes(config)


def _rows(config: EngineConfig) -> int:
    """Requests that are sampled in a step at most."""
    return min(config.scheduler.max_num_seqs, config.scheduler.max_num_batched_tokens)


def _item(config: EngineConfig) -> int:
    """Bytes of a number."""
    return max(4, torch.finfo(getattr(torch, config.model.dtype)).bits // 8)


def _widest(model: Model, vocab_size: int) -> int:
    """Largest input or output of a layer, the vocabulary aside; 0 for a model without layers of the core."""
    if not isinstance(model, torch.nn.Module):
        return 0
    sizes = [0]
    for weight in weights_of(layers_of(model)).values():
        sizes.append(weight.inputs.size if weight.inputs else 0)
        whole = sum(part.full for part in weight.parts.values())
        sizes.append(0 if whole == vocab_size else sum(part.size for part in weight.parts.values()))
    return max(sizes)
