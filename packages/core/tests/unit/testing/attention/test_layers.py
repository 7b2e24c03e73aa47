from __future__ import annotations

from kernelet.contracts.attention import AttentionOffer
from kernelet.testing.attention.layers import FEATURES, AttentionCapabilities, Layers


def of(capabilities=None, **offer):
    offer = AttentionOffer(name="x", target="x:y", **{"kinds": frozenset({"full", "sliding"}), **offer})
    return Layers(offer, capabilities or AttentionCapabilities())


def test_an_offer_of_everything_is_asked_for_everything(layers):
    latent = of(kinds=frozenset({"full", "sliding", "mla"}), soft_cap=True, sinks=True)
    every = [feature for feature in FEATURES.values() if "kind" not in feature.changes]
    assert [says for _, says in layers.features()] == [feature.says for feature in every]
    assert [says for _, says in latent.features()] == [feature.says for feature in FEATURES.values()]
    asked = list(layers.offered())
    assert {spec.dtype for spec in asked} == {"float64", "float32", "bfloat16", "float16"}
    assert {spec.head_size for spec in asked} == {5, 64}
    assert {spec.block_size for spec in asked} == {1, 3, 16}
    assert {spec.kind for spec in asked} == {"full", "sliding"}
    assert len(asked) == len(set(asked)) == 4 * 2 * 3 * 2


def test_caches_of_other_dtypes_are_asked_for_where_they_are_offered():
    made = of(cache_dtypes=("int8:token_head", "unheard:of"), soft_cap=True, sinks=True)
    plain = of(soft_cap=True, sinks=True)
    more = [spec for spec, _ in made.features() if spec not in [one for one, _ in plain.features()]]
    assert [(spec.cache_form, spec.sinks, spec.window) for spec in more] == [("int8:token_head", True, 12)]
    assert {spec.cache_form for spec in made.offered()} == {"", "int8:token_head"}
    (narrow,) = [spec for spec, _ in of(cache_dtypes=("int8:token_head",), kinds=frozenset({"full"})).features()][-1:]
    assert (narrow.cache_form, narrow.window) == ("int8:token_head", None)
    assert of().plain(cache_dtype="int8", cache_scales="token_head") is None


def test_what_is_not_offered_is_not_asked_for():
    narrow = of(
        dtypes=("bfloat16",),
        head_sizes=(64, 128),
        block_size_multiple=16,
        kinds=frozenset({"sliding"}),
        required_features=frozenset({"x"}),
        min_compute_capability=(8, 0),
        requirements=("acme-not-there",),
    )
    assert {spec.window is None for spec, _ in narrow.features()} == {False}
    assert not any(spec.sinks or spec.soft_cap for spec, _ in narrow.features())
    assert {(s.dtype, s.head_size, s.block_size) for s in narrow.offered()} == {
        ("bfloat16", size, block) for size in (64, 128) for block in (16, 48)
    }
    plain = narrow.plain()
    assert (plain.kind, plain.window, plain.head_size, plain.block_size) == ("sliding", 1 << 20, 64, 16)
    assert of(kinds=frozenset({"latent"})).plain() is None
    assert not list(narrow.trees())


def test_latent_layers_are_asked_for_where_they_are_offered():
    made = of(kinds=frozenset({"mla"}), soft_cap=True, cache_dtypes=("int8:token_head",))
    assert made.plain() is None
    asked = {(spec.kind, spec.num_kv_heads, spec.head_size, spec.kv_lora_rank) for spec in made.offered()}
    assert asked == {("mla", 1, 12, 8), ("mla", 1, 80, 64)}
    assert [(spec.cache_form, spec.soft_cap) for spec, _ in made.features()] == [("", None), ("int8:token_head", None)]
    (deepseek,) = {spec.head_size for spec in of(kinds=frozenset({"mla"}), head_sizes=(576,)).offered()}
    assert deepseek == 576


def test_trees_are_asked_for_where_they_are_offered():
    found = list(of(kinds=frozenset({"tree"}), soft_cap=True, sinks=True, cache_dtypes=("int8:token_head",)).trees())
    assert {spec.kind for spec in found} == {"tree"}
    assert [spec.window for spec in found].count(None) == len(found) - 1
    assert {spec.dtype for spec in found} == {"float64", "float32", "bfloat16", "float16"}
    assert any(spec.cache_form for spec in found)
    assert any(spec.sinks for spec in found)


def test_capabilities_narrow_what_an_offer_leaves_open():
    made = of(
        AttentionCapabilities(dtypes=("float32",), head_sizes=(32,), block_sizes=(8,), tolerances={"float32": 0.5})
    )
    assert {(s.dtype, s.head_size, s.block_size) for s in made.offered()} == {("float32", 32, 8)}
    assert made.tolerance(made.spec()) == 0.5
    assert of().tolerance(of().spec()) == 1e-12
