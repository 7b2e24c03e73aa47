"""The attention layers of a model, held against each other and against what they say of their caches."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from kernelet.contracts.attention import AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec, MLAAttentionSpec, SlidingWindowSpec
from kernelet.contracts.model import AttentionLayer
from kernelet.testing.verdict import check


def check_layers(layers: Sequence[AttentionLayer], *, dtype: str, block_size: int) -> None:
    """Holds the layers of a model to the contract.

    Args:
        layers: In order.
        dtype: Name of the dtype that the model's context has.
        block_size: Tokens a block that it has.

    Raises:
        ConformanceError: naming what is wrong.
    """
    check(len(layers) > 0, "attention_layers() must list the layers that own a cache: there is none")
    check(
        all(isinstance(layer, AttentionLayer) for layer in layers),
        "each of attention_layers() must have `name`, `spec`, cache_spec() and bind()",
    )
    names = [layer.name for layer in layers]
    check(
        all(names) and len(set(names)) == len(names),
        "attention layers must have names, each its own: plans, caches and taps are found by them",
    )
    for layer in layers:
        _check_spec(layer.spec, dtype, block_size)
        _check_cache(layer.spec, layer.cache_spec())


def _check_spec(spec: AttentionSpec, dtype: str, block_size: int) -> None:
    check(isinstance(spec, AttentionSpec), "`spec` of an attention layer must be an AttentionSpec")
    sizes = (spec.num_heads, spec.num_kv_heads, spec.head_size)
    check(
        min(sizes) > 0 and spec.num_heads % spec.num_kv_heads == 0,
        "an attention layer must have as many query heads as key heads, or a multiple of them",
    )
    check(
        spec.dtype == dtype and spec.block_size == block_size,
        "an attention layer must have the dtype and the block size of the model's context",
    )
    check(
        spec.kind == "tree" or (spec.kind == "sliding") == (spec.window is not None),
        "an attention layer with a window must be of kind 'sliding' or 'tree', and a sliding one must have a window",
    )
    check(
        (spec.kind == "mla") == (0 < spec.kv_lora_rank <= spec.head_size),
        "an attention layer of kind 'mla' must have a kv_lora_rank, of at most its head size, and no other may",
    )
    check(spec.kind != "mla" or spec.num_kv_heads == 1, "an attention layer of kind 'mla' must have one key head")


def _check_cache(spec: AttentionSpec, cache: FullAttentionSpec) -> None:
    check(isinstance(cache, FullAttentionSpec), "cache_spec() must be a FullAttentionSpec or one of its kinds")
    same = ("block_size", "num_kv_heads", "head_size", "dtype")
    check(
        all(getattr(cache, name) == getattr(spec, name) for name in same),
        "cache_spec() must have the heads, sizes and dtype of the layer's `spec`",
    )
    rank = cache.kv_lora_rank if isinstance(cache, MLAAttentionSpec) else 0
    check(rank == spec.kv_lora_rank, "cache_spec() of a layer of kind 'mla' must be an MLAAttentionSpec of its rank")
    window = cache.window if isinstance(cache, SlidingWindowSpec) else None
    check(window == spec.window, "cache_spec() of a layer with a window must be a SlidingWindowSpec of that window")
    item = getattr(torch, cache.dtype).itemsize
    vectors = 1 if isinstance(cache, MLAAttentionSpec) else 2
    least = vectors * cache.block_size * cache.num_kv_heads * cache.head_size * item
    check(
        cache.page_bytes >= least,
        "page_bytes of cache_spec() must hold the keys and values of a block: the cache is sized by it",
    )
