"""How much memory a step takes besides weights and cache."""

from __future__ import annotations

import torch

from kernelet.config import EngineConfig
from kernelet.contracts.model import Model
from kernelet.layers.weights import layers_of, weights_of

COPIES = 4
"""Tensors as wide as the widest layer that are alive at once: its input, output, and two on the way."""

LOGITS_COPIES = 4
"""The model's logits, their float form, scaled probabilities and one temporary."""


def activation_bytes(model: Model, config: EngineConfig) -> int:
    """Estimate for the largest step that the configuration allows.

    What attention gathers is not in it; that is in proportion to one layer's cache, and the share of memory that
    ``memory_utilization`` leaves is for it.
    """
    vocab_size = config.model.vocab_size
    rows = min(config.scheduler.max_num_seqs, config.scheduler.max_num_batched_tokens)
    item = max(4, torch.finfo(getattr(torch, config.model.dtype)).bits // 8)
    width = _widest(model, vocab_size)
    return item * (COPIES * width * config.scheduler.max_num_batched_tokens + LOGITS_COPIES * vocab_size * rows)


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
