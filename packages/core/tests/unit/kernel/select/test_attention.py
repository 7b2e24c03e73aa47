from __future__ import annotations

from dataclasses import replace

import pytest

from kernelet.contracts.attention import AttentionOffer, AttentionSpec
from kernelet.contracts.platform import Capabilities, PlatformChoice
from kernelet.contracts.plugins import Owned
from kernelet.errors import SelectionError
from kernelet.kernel.kinds import kind_of
from kernelet.kernel.select.attention import missing_features, select_attention, why_not
from kernelet.kernel.select.pick import Request

CAPABILITIES = Capabilities(
    device_type="x", dtypes=("float32",), memory_bytes=1, features=frozenset({"fp8"}), compute_capability=(8, 6)
)
SPEC = AttentionSpec(
    kind="full", num_heads=2, num_kv_heads=1, head_size=64, dtype="float32", block_size=16, scale=0.125
)
PLAIN = AttentionOffer(name="plain", target="m:A", kinds=frozenset({"full"}))
EIGHT = {"cache_dtype": "e4m3fn", "cache_scales": "tensor"}
OTHERS = "keeps keys and values in float32 or as int8:tensor, e4m3fn:token_head, not as e4m3fn:tensor"
REQUEST = Request(kind=kind_of(AttentionOffer), purpose="layers of kind full", how="--attention-backend full=NAME")


@pytest.mark.parametrize(
    "offer, spec, reason",
    [
        ({}, {}, ""),
        ({"kinds": frozenset({"sliding", "cross"})}, {}, "serves cross, sliding, not full"),
        ({"dtypes": ("float16", "bfloat16")}, {}, "takes float16, bfloat16, not float32"),
        ({"dtypes": ("float32",)}, {}, ""),
        ({"head_sizes": (128, 256)}, {}, "takes head sizes 128, 256, not 64"),
        ({"head_sizes": (64,)}, {}, ""),
        ({"block_size_multiple": 32}, {}, "needs a block size that 32 divides, not 16 (--block-size 32)"),
        ({"block_size_multiple": 8}, {}, ""),
        ({}, {"soft_cap": 50.0}, "has no soft cap"),
        ({"soft_cap": True}, {"soft_cap": 50.0}, ""),
        ({}, {"sinks": True}, "has no sinks"),
        ({"sinks": True}, {"sinks": True}, ""),
        ({"required_features": frozenset({"fp8", "graphs"})}, {}, "needs the platform features graphs"),
        ({"required_features": frozenset({"fp8"})}, {}, ""),
        ({"min_compute_capability": (9, 0)}, {}, "needs compute capability 9.0, here is 8.6"),
        ({"min_compute_capability": (8, 6)}, {}, ""),
        ({"max_compute_capability": (8, 0)}, {}, "needs compute capability at most 8.0, here is 8.6"),
        ({"max_compute_capability": (8, 6)}, {}, ""),
        (
            {"min_compute_capability": (9, 0), "max_compute_capability": (9, 0)},
            {},
            "needs compute capability 9.0 to 9.0, here is 8.6",
        ),
        ({"min_compute_capability": (8, 0), "max_compute_capability": (9, 0)}, {}, ""),
        ({"requirements": ("acme-not-there>=2",)}, {}, "needs acme-not-there>=2, which is not installed"),
        ({"requirements": ("numpy",)}, {}, ""),
        ({}, EIGHT, "keeps keys and values in float32, not as e4m3fn:tensor"),
        ({"cache_dtypes": ("int8:tensor", "e4m3fn:token_head")}, EIGHT, OTHERS),
        ({"cache_dtypes": ("e4m3fn:tensor",)}, EIGHT, ""),
        ({"cache_dtypes": ("e4m3fn:tensor",)}, {}, ""),
        ({"head_sizes": (128,)}, {"sinks": True}, "takes head sizes 128, not 64; has no sinks"),
    ],
)
def test_reasons(offer, spec, reason):
    assert why_not(replace(PLAIN, **offer), replace(SPEC, **spec), CAPABILITIES) == reason


def test_a_platform_without_compute_capability():
    reason = why_not(
        replace(PLAIN, min_compute_capability=(8, 0)), SPEC, replace(CAPABILITIES, compute_capability=None)
    )
    assert reason == "needs compute capability 8.0, here is none"


def test_missing_features():
    assert missing_features(frozenset(), CAPABILITIES) == ""
    assert missing_features(frozenset({"b", "a", "fp8"}), CAPABILITIES) == "needs the platform features a, b"
    why = replace(CAPABILITIES, lacks=(("a", "it is too old"), ("c", "never told")))
    assert missing_features(frozenset({"b", "a"}), why) == "needs the platform features a, b (it is too old)"


def choose(*offers, order=(), named=None, spec=SPEC):
    platform = PlatformChoice(name="x", capabilities=CAPABILITIES, attention_order=order)
    owned = [Owned(offer=offer, plugin="p") for offer in offers]
    return select_attention(REQUEST, owned, spec, platform, named or {})


def offer(name, priority=0, **fields):
    return replace(PLAIN, name=name, priority=priority, **fields)


def test_priority_without_an_order():
    assert choose(offer("a"), offer("b", 5)).chosen.offer.name == "b"


def test_the_platforms_order_goes_first():
    choice = choose(offer("a", 99), offer("b"), offer("c", 50), order=("gone", "c", "b"))
    assert choice.chosen.offer.name == "c"
    assert set(choice.refused) == {"a", "b"}


def test_the_platforms_favourite_must_fit():
    choice = choose(offer("a"), offer("b", head_sizes=(128,)), order=("b", "a"))
    assert choice.chosen.offer.name == "a"
    assert choice.refused == {"b": "takes head sizes 128, not 64"}


def test_equal_ones_outside_the_order():
    with pytest.raises(SelectionError, match=r"a \(p\), b \(p\). Name one: --attention-backend full=NAME"):
        choose(offer("a"), offer("b"))


@pytest.mark.parametrize(
    "named, chosen", [({"": "a"}, "a"), ({"full": "a"}, "a"), ({"sliding": "a"}, "b"), ({"": "b", "full": "a"}, "a")]
)
def test_named_for_all_or_for_the_kind(named, chosen):
    assert choose(offer("a"), offer("b", 5), named=named).chosen.offer.name == chosen


def test_a_named_one_that_does_not_fit_is_not_replaced():
    with pytest.raises(
        SelectionError, match="'b' was named and cannot serve layers of kind full: takes head sizes 128"
    ):
        choose(offer("a"), offer("b", head_sizes=(128,)), named={"": "b"})


def test_a_named_one_that_does_not_exist():
    with pytest.raises(SelectionError, match="No attention backend is named 'c'"):
        choose(offer("a"), named={"": "c"})


def test_nothing_fits():
    with pytest.raises(
        SelectionError, match=r"No attention backend for layers of kind full can be used.\n  a: has no sinks"
    ):
        choose(offer("a"), spec=replace(SPEC, sinks=True))
