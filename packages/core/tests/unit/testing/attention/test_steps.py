from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.cache import SlidingWindowSpec
from kernelet.contracts.offer import Settings
from kernelet.testing.attention.reference import SlowAttention
from kernelet.testing.attention.steps import PagedRequests, cache_spec_of, make_attention, play
from kernelet.testing.offered import Offered
from kernelet.testing.verdict import ConformanceError


def offered(target=SlowAttention):
    return Offered(
        offer=AttentionOffer(name="x", target="x:y", kinds=frozenset()), settings=Settings(plugin="x"), target=target
    )


def test_a_step_is_laid_out_as_the_engine_does(layers):
    requests = PagedRequests(offered(), layers.spec(block_size=4), "cpu", padding=2)
    requests.step({"a": 6})
    step = requests.plan({"b": 5, "a": 3, "c": 1})
    assert step.batch.query_start_loc.tolist() == [0, 5, 8, 9]
    assert step.batch.seq_lens.tolist() == [5, 9, 1]
    assert step.batch.block_table.shape == (3, 3 + 2)
    blocks = [block for table in requests.tables.values() for block in table]
    assert len(set(blocks)) == len(blocks) == 3 + 2 + 1 and 0 not in blocks
    a = requests.tables["a"]
    assert step.batch.slot_mapping[step.rows("a")].tolist() == [a[1] * 4 + 2, a[1] * 4 + 3, a[2] * 4]
    assert step.batch.block_table[1].tolist() == [*a, 0, 0]
    assert not step.key.is_contiguous()
    assert torch.equal(requests.keys["a"][6:], step.key[step.rows("a")])


def test_a_tree_follows_its_request_and_is_rejected(layers):
    requests = PagedRequests(offered(), layers.spec(kind="tree", block_size=4), "cpu")
    requests.step({"a": 6})
    step = requests.plan({"b": 2, "a": 1}, {"a": (-1, 0, 0)})
    assert step.counts == {"b": 2, "a": 4}
    assert step.batch.seq_lens.tolist() == [2, 10]
    assert step.batch.tree_sizes.tolist() == [0, 3]
    assert step.batch.tree_masks.tolist() == [-1, -1, -1, 0b001, 0b011, 0b101]
    assert requests.length("a") == 7
    found, expected = requests.run(step), requests.expected(step)
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)
    follow = requests.plan({"a": 2})
    assert follow.batch.tree_sizes is None
    assert follow.batch.slot_mapping[0] == step.batch.slot_mapping[3]
    assert not torch.equal(follow.key[0], step.key[3])
    assert len(requests.keys["a"]) == 9


def test_a_latent_layer_has_the_beginning_of_its_key_for_a_value(layers):
    requests = PagedRequests(offered(), layers.spec(kind="mla"), "cpu")
    step = requests.plan({"a": 5})
    assert torch.equal(step.value, step.key[..., :8])
    assert requests.run(step).shape == (5, 4, 8)
    torch.testing.assert_close(requests.run(step), requests.expected(step), atol=1e-12, rtol=0)
    assert cache_spec_of(requests.spec).page_bytes == 4 * 12 * 8


def test_content_depends_on_name_and_position_alone(layers):
    first, second = (PagedRequests(offered(), layers.spec(), "cpu", seed=3) for _ in range(2))
    first.plan({"a": 4, "b": 1})
    for count in (1, 3):
        second.plan({"a": count})
    assert torch.equal(first.keys["a"], second.keys["a"])
    assert len({float(x) for x in first.keys["a"].flatten()}) == first.keys["a"].numel()


def test_results_are_what_the_reference_says_also_behind_a_window(layers):
    spec = layers.spec(window=6, block_size=4)
    assert cache_spec_of(spec) == SlidingWindowSpec(
        block_size=4, page_bytes=2 * 4 * 4 * 5 * 8, num_kv_heads=4, head_size=5, dtype="float64", window=6
    )
    requests = PagedRequests(offered(), spec, "cpu")
    for counts in ({"a": 11}, {"a": 1, "b": 3}, {"a": 5, "b": 1}):
        found, expected = requests.step(counts)
        torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)
    assert [block == 0 for block in requests.tables["a"]] == [True, False, False, False, False]
    whole = play(PagedRequests(offered(), spec, "cpu"), [{"a": 12}])["a"]
    cut = play(PagedRequests(offered(), spec, "cpu"), [{"a": 5}, {"b": 1, "a": 7}])["a"]
    assert np.allclose(whole, cut, atol=1e-12)


def test_no_attention(layers):
    with pytest.raises(ConformanceError, match="x:y is no Attention"):
        make_attention(offered(lambda spec, settings: object()), layers.spec())
