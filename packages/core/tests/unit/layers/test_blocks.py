from __future__ import annotations

import pytest

from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.layers.blocks import share_blocks
from kernelet.layers.context import UnevenError
from kernelet.layers.weights import Shard
from kernelet.testing.tensors import make_context

GROUPS = WeightScheme(element="int4", scales=(ScaleLevel("float32", (1, 32)),))
TILES = WeightScheme(element="e4m3fn", scales=(ScaleLevel("float32", (16, 32)),))
ROWS = WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),))


def shards(size, full):
    context = make_context(size=size)
    return context, Shard.even(context, full, "axis")


def test_groups_of_inputs_are_not_cut():
    context, inputs = shards(2, 128)
    share_blocks(context, "down", GROUPS, [Shard.whole(6)], inputs)
    context, inputs = shards(2, 96)
    with pytest.raises(UnevenError, match=r"down \(inputs that share a scale\): 96 in groups of 32"):
        share_blocks(context, "down", GROUPS, [Shard.whole(6)], inputs)


def test_groups_of_outputs_are_not_cut():
    context, outputs = shards(2, 48)
    with pytest.raises(UnevenError, match=r"up \(outputs that share a scale\): 48 in groups of 16"):
        share_blocks(context, "up", TILES, [outputs], Shard.whole(64))
    share_blocks(context, "up", GROUPS, [outputs], Shard.whole(96))


def test_a_scale_of_a_whole_axis_is_of_the_ranks_own_part():
    context, inputs = shards(3, 9)
    share_blocks(context, "down", ROWS, [Shard.whole(5)], inputs)


def test_what_every_rank_holds_is_not_divided():
    share_blocks(make_context(size=4), "router", TILES, [Shard.whole(5)], Shard.whole(7))
