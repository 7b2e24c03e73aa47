"""Both kernels by way of the layer, over the kit's requests and its reference."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kernelet.contracts.attention import AttentionOffer, AttentionSpec
from kernelet.testing.attention.steps import PagedRequests, hold, play
from kernelet.testing.attention.trees import LARGEST, TREES
from kernelet.testing.offered import find_offer
from kernelet.testing.tensors import TOLERANCES, check_close
from kernelet_attention_triton import configurations, launch

PLAIN = AttentionSpec(
    kind="full", num_heads=1, num_kv_heads=1, head_size=32, dtype="float32", block_size=16, scale=32**-0.5
)
LAYERS = [
    {"block_size": 16, "num_heads": 3, "dtype": "float32"},
    {"block_size": 32, "num_heads": 8, "dtype": "bfloat16", "window": 9, "soft_cap": 3.0},
    {"block_size": 64, "num_heads": 6, "num_kv_heads": 2, "dtype": "float16", "sinks": True, "window": 21},
    {"block_size": 48, "num_heads": 20, "dtype": "bfloat16", "head_size": 80, "sinks": True, "soft_cap": 5.0},
    {"block_size": 7, "num_heads": 2, "dtype": "float16", "head_size": 5},
    {"dtype": "bfloat16", "num_heads": 3, "cache_dtype": "e4m3fn", "cache_scales": "tensor"},
    {"dtype": "float16", "num_heads": 8, "cache_dtype": "int8", "cache_scales": "token_head", "window": 33},
    {"kind": "mla", "num_heads": 3, "head_size": 36, "kv_lora_rank": 24},
    {"kind": "mla", "num_heads": 20, "head_size": 40, "kv_lora_rank": 32, "dtype": "bfloat16", "soft_cap": 4.0},
    {"kind": "mla", "num_heads": 4, "head_size": 24, "kv_lora_rank": 24, "dtype": "float16", "sinks": True},
    {"kind": "mla", "num_heads": 4, "cache_dtype": "int8", "cache_scales": "token_head", "kv_lora_rank": 20},
    {"kind": "mla", "num_heads": 4, "cache_dtype": "e4m3fn", "cache_scales": "tensor", "kv_lora_rank": 20},
]
TREE_LAYERS = [
    {"num_heads": 3},
    {"num_heads": 8, "num_kv_heads": 2, "dtype": "bfloat16", "window": 9, "soft_cap": 3.0, "sinks": True},
    {"num_heads": 4, "dtype": "float16", "cache_dtype": "int8", "cache_scales": "token_head", "block_size": 7},
]
STEPS = ({"a": 37, "b": 3}, {"b": 8, "a": 1}, {"a": 9, "c": 1, "b": 1})


def offered(**options):
    return find_offer("kernelet_attention_triton.plugin", AttentionOffer, "triton", **options)


def layer(**changes):
    kind = "full" if changes.get("window") is None else "sliding"
    return replace(PLAIN, **{"kind": kind, **changes})


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.long)], ids=["", "invariant"])
def invariant(request, monkeypatch):
    """Segments so small that there are several."""
    monkeypatch.setattr(launch, "INVARIANT_SEGMENT", 32)
    return request.param


@pytest.mark.parametrize("changes", LAYERS, ids=str)
def test_requests_are_computed_by_the_formula(changes, invariant):
    spec = layer(**changes)
    mine = PagedRequests(offered(batch_invariant=invariant), spec, "cpu", left_behind=torch.nan)
    hold(mine, STEPS, TOLERANCES[spec.dtype], f"attention of {spec}")


@pytest.mark.parametrize(
    "changes",
    [*(pytest.param(one, marks=pytest.mark.long) for one in (*LAYERS[1:3], LAYERS[8])), {"num_heads": 3}],
    ids=str,
)
def test_invariant_rows_have_the_same_bits_in_every_batch_and_cut(changes, monkeypatch):
    monkeypatch.setattr(launch, "INVARIANT_SEGMENT", 32)
    spec = layer(**changes)
    one = offered(batch_invariant=True)
    whole = play(PagedRequests(one, spec, "cpu"), [{"a": 41}])["a"]
    cut = play(PagedRequests(one, spec, "cpu"), [{"a": 33}, {"a": 7, "b": 50}, {"c": 2, "a": 1, "b": 1}])["a"]
    assert torch.equal(cut, whole)


@pytest.mark.parametrize("changes", TREE_LAYERS, ids=str)
def test_trees_are_computed_by_the_formula(changes, invariant):
    """Trees larger and smaller than a tile, over several steps of keys, beside prompts and tokens of others."""
    spec = layer(**changes | {"kind": "tree"})
    mine = PagedRequests(offered(batch_invariant=invariant), spec, "cpu", left_behind=torch.nan)
    mine.step({"a": 37, "b": 5})
    for counts, trees in (
        ({"b": 1, "a": 1, "c": 9}, {"a": TREES["a wide and deep one"], "b": TREES["siblings"]}),
        ({"a": 2, "c": 1}, {"c": LARGEST}),
    ):
        check_close(*mine.step(counts, trees), TOLERANCES[spec.dtype], f"attention of {spec} over trees")


def test_invariant_trees_have_the_bits_of_accepted_tokens(monkeypatch):
    """A branch beside siblings, in a batch, and as the tokens of a prompt."""
    monkeypatch.setattr(launch, "INVARIANT_SEGMENT", 32)
    spec, one = layer(num_heads=4, kind="tree"), offered(batch_invariant=True)
    mine = PagedRequests(one, spec, "cpu")
    mine.step({"a": 30})
    parents, branch = (-1, 0, 0, 2, 1, 3, 5), [0, 2, 3, 5, 6]
    step = mine.plan({"b": 12, "a": 1}, {"a": parents, "b": TREES["siblings"]})
    drafted = mine.run(step)[step.rows("a")][1:][branch]
    again = PagedRequests(one, spec, "cpu")
    again.step({"a": 30})
    follow = again.plan({"a": 1 + len(branch)})
    for theirs, ours in zip((follow.query, follow.key, follow.value), (step.query, step.key, step.value), strict=True):
        theirs.copy_(ours[step.rows("a")][[0, *(1 + token for token in branch)]])
    assert torch.equal(drafted, again.run(follow)[1:])


def test_parts_are_what_one_program_computes(monkeypatch):
    """Decoding over many segments, over one, and prefill; bits differ, numbers do not."""
    found = []
    for segment in (32, 1 << 20):
        monkeypatch.setattr(configurations, "segment_of", lambda *_, segment=segment: segment)
        found.append(play(PagedRequests(offered(), layer(num_heads=4), "cpu"), [{"a": 50}, {"a": 2}])["a"][50:])
    torch.testing.assert_close(found[0], found[1], rtol=1e-5, atol=1e-5)
    assert not torch.equal(found[0], found[1])
