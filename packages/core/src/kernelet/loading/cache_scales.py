"""Tensors of a checkpoint that are scales of a quantized KV cache: they belong to no weight."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernelet.loading.without import Without

if TYPE_CHECKING:
    from torch import Tensor

    from kernelet.contracts.model import WeightReader

NAMES = frozenset(
    {"k_scale", "v_scale", "kv_scale", "k_zero_point", "v_zero_point", "q_scale", "q_zero_point", "prob_scale"}
)
"""Last parts of their names, as exporters write them; the last three are of attention itself, not quantized."""


def take_cache_scales(reader: WeightReader) -> tuple[WeightReader, Mapping[str, Tensor]]:
    """A checkpoint without its scales of a KV cache, and these, by name."""
    scales = {name: reader.read(name) for name in reader.names() if name.rpartition(".")[2] in NAMES}
    hidden = {re.escape(name): "a scale of the KV cache" for name in scales}
    return (Without(reader, hidden) if scales else reader), scales
