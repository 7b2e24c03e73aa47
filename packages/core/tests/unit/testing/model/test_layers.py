from __future__ import annotations

from types import SimpleNamespace

import pytest

from kernelet.contracts.attention import AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec, SlidingWindowSpec
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


def test_good_layers():
    check_layers([layer(), layer("b", window=5)], dtype="float32", block_size=4)


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
    ],
)
def test_wrong_layers(layers, word):
    with pytest.raises(ConformanceError, match=word):
        check_layers(layers, dtype="float32", block_size=4)
