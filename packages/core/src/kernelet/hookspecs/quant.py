"""Hooks that offer quantization methods, writers of quantized checkpoints, and ways to keep the KV cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.quant import KVCacheOffer, QuantizerOffer, QuantOffer


@hookspec
def kernelet_quantization_methods() -> Sequence[QuantOffer]:
    """Offers ways to store weights, by the names that checkpoints have for them.

    When: process start, while registries are filled.
    Process: frontend, engine and worker.
    Returns: offers; duplicates of a name are an error.
    Order: the checkpoint's or the operator's name selects; a name has one owner. Without a name none is used.
    Since: quant 1.0.
    """
    raise NotImplementedError


@hookspec
def kernelet_quantizers() -> Sequence[QuantizerOffer]:
    """Offers writers of quantized checkpoints.

    When: process start, while registries are filled.
    Process: frontend.
    Returns: offers; duplicates of a name are an error.
    Order: ``--format`` of ``kernelet quantize`` selects; a name has one owner.
    Since: quant 1.1.
    """
    raise NotImplementedError


@hookspec
def kernelet_kv_cache_methods() -> Sequence[KVCacheOffer]:
    """Offers ways to keep keys and values in another dtype than the model's.

    When: process start, while registries are filled.
    Process: frontend, engine and worker.
    Returns: offers; duplicates of a name are an error.
    Order: ``--kv-cache-dtype`` selects; a name has one owner. Without it none is used.
    Since: quant 1.1.
    """
    raise NotImplementedError
