from __future__ import annotations

from types import SimpleNamespace

import pytest

from kernelet.contracts.attention import AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec, MLAAttentionSpec, SlidingWindowSpec
from kernelet.testing.model.layers import check_layers
from kernelet.testing.verdict import ConformanceError


def layer(name="a", window=None, kind=None, heads=4, kv_heads=2, page_bytes=512, cache_window="same", **more):
    common = {"block_size": 4, "num_kv_heads": kv_heads, "head_size": 8, "dtype": "float32"} | more
    spec = AttentionSpec(
        kind=kind or ("full" if window is None else "sliding"), num_heads=heads, scale=1.0, window=window, **common
    )
    cached = window if cache_window == "same" else cache_window
    cache = (
        FullAttentionSpec(page_bytes=page_bytes, **common)
        if cached is None
        else SlidingWindowSpec(page_bytes=page_bytes, window=cached, **common)
    )
    return SimpleNamespace(name=name, spec=spec, cache_spec=lambda: cache, bind=lambda *_: None)


def latent(kv_heads=1, rank=6, cache_rank=6, page_bytes=128, kind="mla"):
    common = {"block_size": 4, "num_kv_heads": kv_heads, "head_size": 8, "dtype": "float32"}
    spec = AttentionSpec(kind=kind, num_heads=4, scale=1.0, kv_lora_rank=rank, **common)
    cache = MLAAttentionSpec(page_bytes=page_bytes, kv_lora_rank=cache_rank, **common)
    return SimpleNamespace(name="a", spec=spec, cache_spec=lambda: cache, bind=lambda *_: None)


def test_good_layers():
    check_layers([layer(), layer("b", window=5)], dtype="float32", block_size=4)
    check_layers([layer("c", kind="tree"), layer("b", window=5, kind="tree"), latent()], dtype="float32", block_size=4)


@pytest.mark.parametrize(
    "layers, word",
    [
        ([], "there is none"),
        ([SimpleNamespace(name="a")], r"must have `name`"),
        ([layer(), layer()], "each its own"),
        ([layer(""), layer("b")], "each its own"),
        ([layer(heads=3)], "a multiple"),
        ([layer(dtype="float64")], "the dtype and the block size"),
        ([layer(block_size=8)], "the dtype and the block size"),
        ([layer(kind="sliding")], "must have a window"),
        ([layer(window=3, cache_window=None)], "SlidingWindowSpec of that window"),
        ([layer(window=3, cache_window=4)], "SlidingWindowSpec of that window"),
        ([layer(page_bytes=511)], "page_bytes"),
        ([latent(page_bytes=127)], "page_bytes"),
        ([latent(rank=0)], "must have a kv_lora_rank"),
        ([latent(rank=9)], "must have a kv_lora_rank"),
        ([latent(kind="full")], "must have a kv_lora_rank"),
        ([latent(kv_heads=2, page_bytes=256)], "must have one key head"),
        ([latent(cache_rank=5)], "MLAAttentionSpec of its rank"),
    ],
)
def test_wrong_layers(layers, word):
    with pytest.raises(ConformanceError, match=word):
        check_layers(layers, dtype="float32", block_size=4)
