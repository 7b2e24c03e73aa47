from __future__ import annotations

import pytest
import torch

from kernelet.errors import WeightsError
from kernelet.layers.weights import Shard, Weight
from kernelet.loading.mapping import Target, WeightMap, interleaved, plain, split
from kernelet.testing.tensors import make_context


def weight(**parts):
    return Weight(make_context(), "w", {name: Shard.whole(size) for name, size in parts.items()}, Shard.whole(2))


def write(targets, values):
    for source, target in targets.items():
        value = values[source]
        target.weight.write(source, target.transform(value) if target.transform else value, target.part, target.expert)


def test_fused_and_split_checkpoints_fill_the_same_weight():
    full = torch.arange(24.0).view(12, 2)
    fused, apart = weight(q=6, k=3, v=3), weight(q=6, k=3, v=3)
    write(plain(fused, "qkv"), {"qkv": full})
    write(split(apart, ["q", "k", "v"]), {"q": full[:6], "k": full[6:9], "v": full[9:]})
    assert torch.equal(fused.take(), full)
    assert torch.equal(apart.take(), full)


def test_split_needs_a_name_a_part():
    with pytest.raises(ValueError, match="zip"):
        split(weight(q=6, k=3), ["q"])


def test_interleaved_heads_are_put_in_order():
    heads, size = 3, 2
    query, key, value = (torch.randn(heads, size, 2) for _ in range(3))
    stored = torch.stack((query, key, value), 1).reshape(-1, 2)
    target = weight(q=6, k=6, v=6)
    write(interleaved(target, "qkv", heads), {"qkv": stored})
    assert torch.equal(target.take(), torch.cat([part.reshape(-1, 2) for part in (query, key, value)]))


def test_interleaved_parts_must_be_of_one_size():
    with pytest.raises(WeightsError, match="differ in size"):
        interleaved(weight(q=6, k=3, v=3), "qkv", 3)


def test_ignore_list_matches_whole_names():
    ignoring = WeightMap(targets={}, ignored={r".*\.inv_freq": "a buffer"})
    assert ignoring.is_ignored("layers.3.rotary.inv_freq")
    assert not ignoring.is_ignored("layers.3.rotary.inv_freq.weight")


def test_weights_of_a_map_come_once_with_their_sources():
    first, second = weight(a=1, b=1), weight(a=1)
    targets = split(first, ["a", "b"]) | {"c": Target(weight=second)}
    order = {"c": targets["c"]} | targets
    found = [(sink, list(group)) for sink, group in WeightMap(targets=order).by_weight()]
    assert found == [(second, ["c"]), (first, ["a", "b"])]
