"""A model's context without an engine: references for attention and weights, decompositions for ops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kernelet.config import ModelConfig
from kernelet.contracts.executor import Communicator
from kernelet.contracts.plugins import PluginView
from kernelet.layers.context import ModelContext, TensorParallel
from kernelet.layers.dtypes import dtype_name
from kernelet.layers.ops import OpTable
from kernelet.testing.plugin_view import ReferencePlugins


def make_context(
    hf_config: Mapping[str, Any] | None = None,
    *,
    architecture: str = "",
    max_model_len: int = 64,
    dtype: torch.dtype = torch.float32,
    device: Any = "cpu",
    plugins: PluginView | None = None,
    rank: int = 0,
    size: int = 1,
    communicator: Communicator | None = None,
    block_size: int = 4,
) -> ModelContext:
    """A context.

    Args:
        hf_config: What ``config.json`` says.
        architecture: Name of the model's class.
        max_model_len: Longest request.
        dtype: Compute dtype.
        device: What ``torch.device`` takes.
        plugins: Where layers select; None: ``ReferencePlugins()``.
        rank: Rank of ``size`` tensor-parallel ones.
        size: Number of tensor-parallel ranks.
        communicator: Of these ranks.
        block_size: Tokens a block of the cache.
    """
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
    view = plugins or ReferencePlugins()
    return ModelContext(
        config=config,
        dtype=dtype,
        device=device,
        ops=OpTable(view, dtype_name(dtype)),
        plugins=view,
        parallel=TensorParallel(rank=rank, size=size, communicator=communicator),
        block_size=block_size,
    )
