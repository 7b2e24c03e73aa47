"""Layers that models are built from. They know tensor parallelism, and take kernels and ops from plugins."""

from __future__ import annotations

from kernelet.layers.context import ModelContext, TensorParallel
from kernelet.layers.ops import OpTable

__all__ = ["ModelContext", "OpTable", "TensorParallel"]
