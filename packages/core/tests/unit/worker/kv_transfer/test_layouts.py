from __future__ import annotations

import pytest
import torch

from kernelet.contracts.attention import Attention, AttentionSpec
from kernelet.contracts.cache import CacheConfigPlan, CacheGroup, FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.kv import CANONICAL, KVConnectorOffer, KVPart
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet.testing.attention import SlowKept
from kernelet.worker.kv_transfer.layouts import check_serves, gives_pages, make_layouts


def made(attention=SlowKept, **changes):
    values = {"kind": "full", "num_heads": 4, "num_kv_heads": 2, "head_size": 8, "dtype": "bfloat16", "block_size": 4}
    return attention(AttentionSpec(**{**values, "scale": 1.0, **changes}), Settings(plugin="p"))


PLAN = CacheConfigPlan(
    groups=(
        CacheGroup(
            spec=FullAttentionSpec(block_size=4, page_bytes=1, num_kv_heads=2, head_size=8, dtype="int8"),
            layers=("a", "c"),
            num_blocks=9,
        ),
        CacheGroup(
            spec=SlidingWindowSpec(block_size=4, page_bytes=1, num_kv_heads=2, head_size=8, dtype="int8", window=6),
            layers=("b",),
            num_blocks=5,
        ),
    )
)
INT8 = {"cache_dtype": "int8", "cache_scales": "token_head"}


@pytest.fixture
def attention():
    return {"a": made(**INT8), "b": made(window=6, kind="sliding", **INT8), "c": made(**INT8)}


def test_a_layout_says_what_a_group_keeps(attention):
    full, sliding = make_layouts(PLAN, attention, rank=1, world_size=2)
    assert (full.group, full.layers, full.num_blocks, full.window) == (0, ("a", "c"), 9, None)
    assert (sliding.group, sliding.layers, sliding.num_blocks, sliding.window) == (1, ("b",), 5, 6)
    assert (full.block_size, full.num_kv_heads, full.rank, full.world_size) == (4, 2, 1, 2)
    assert full.parts == (
        KVPart(name="key", dtype="int8", width=8),
        KVPart(name="value", dtype="int8", width=8),
        KVPart(name="key_scale", dtype="float32", width=1),
        KVPart(name="value_scale", dtype="float32", width=1),
    )
    assert full.native == attention["a"].native_layout() != ""


@pytest.mark.parametrize(
    "changes, dtype", [({}, "bfloat16"), ({"cache_dtype": "e4m3fn", "cache_scales": "tensor"}, "float8_e4m3fn")]
)
def test_scales_of_a_tensor_are_no_part(changes, dtype):
    parts = made(**changes).spec.cache_parts
    assert [(part.name, part.dtype, part.width) for part in parts] == [("key", dtype, 8), ("value", dtype, 8)]
    assert isinstance(getattr(torch, dtype), torch.dtype)


def test_layers_of_different_orders_have_no_native_layout_together(attention):
    class Other(SlowKept):
        def native_layout(self):
            return "other"

    attention["c"] = made(Other, **INT8)
    assert make_layouts(PLAN, attention)[0].native == ""


def offer(**values):
    return KVConnectorOffer(name="shelf", target="", worker="", **values)


def test_a_connector_that_serves_them(attention):
    layouts = make_layouts(PLAN, attention)
    check_serves(offer(), layouts, attention)
    check_serves(offer(max_groups=2, max_ranks=1), layouts, attention)
    natives = tuple(layout.native for layout in layouts)
    check_serves(offer(layouts=natives), layouts, attention)


@pytest.mark.parametrize(
    "values, says",
    [
        ({"max_groups": 1}, r"'shelf' moves 1 cache group\(s\), but the layers of this model form 2.*--kv-connector"),
        ({"max_ranks": 1}, r"'shelf' serves 1 rank\(s\), but --tensor-parallel-size is 2"),
        ({"layouts": ("NHD",)}, r"'shelf' takes pages as NHD, but here they are slow"),
    ],
)
def test_one_that_does_not(attention, values, says):
    with pytest.raises(ConfigError, match=says):
        check_serves(offer(**values), make_layouts(PLAN, attention, 0, 2), attention)


def test_an_attention_that_gives_no_pages(attention):
    class Older(SlowKept):
        export_pages = Attention.export_pages

    attention["b"] = made(Older, window=6, kind="sliding", **INT8)
    assert not gives_pages(attention["b"])
    assert CANONICAL in offer().layouts
    with pytest.raises(ConfigError, match=r"of b, Older, gives no pages.*--attention-backend"):
        check_serves(offer(), make_layouts(PLAN, attention), attention)
