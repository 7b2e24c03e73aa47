from __future__ import annotations

import pytest

from kernelet_device_triton.targets import INTERPRETER, REPORTED, TARGETS
from kernelet_ops_triton.configurations import (
    MOST,
    height,
    of_rounding,
    of_vocabulary,
    parts_of_rows,
    product,
    tiles,
    whole_rows,
)

EVERY = (INTERPRETER, *(TARGETS[name] for name in REPORTED))


def is_power_of_two(number):
    return number & (number - 1) == 0


@pytest.mark.parametrize("target", EVERY, ids=lambda target: target.name)
@pytest.mark.parametrize("size", [1, 16, 80, 128, 3072, 4096, 14336, 16384, 28672, 1 << 20])
def test_rows_fit_into_their_tiles(target, size):
    tile = whole_rows(target, size)
    assert tile.block_n >= size
    for one in (tile, parts_of_rows(target, size), of_vocabulary(size), of_rounding(size)):
        assert is_power_of_two(one.block_m) and is_power_of_two(one.block_n)
        assert one.block_m * one.block_n <= MOST
        assert one.block_m >= 1 and one.num_warps in {1, 2, 4, 8, 16}


@pytest.mark.parametrize("target", EVERY, ids=lambda target: target.name)
@pytest.mark.parametrize("itemsize", [2, 4])
@pytest.mark.parametrize("group", [16, 32, 128, 1 << 30])
def test_a_step_of_rounded_inputs_has_one_scale(target, itemsize, group):
    for block_m in (16, 64, 128):
        for rounded in (False, True):
            chosen = product(target, block_m, itemsize, group, rounded=rounded and group >= 32)
            assert chosen.block_m <= block_m
            assert all(is_power_of_two(one) and one >= 16 for one in chosen.blocks.values())
            if rounded and group >= 32:
                assert chosen.block_k <= group


def test_the_height_of_a_tile_follows_the_rows_unless_it_must_not():
    assert [height(rows, batch_invariant=False) for rows in (1, 16, 17, 256, 257)] == [16, 16, 64, 64, 128]
    assert {height(rows, batch_invariant=True) for rows in (1, 16, 17, 256, 10_000)} == {16}


def test_tiles_cover_rows_and_outputs():
    chosen = product(TARGETS["sm90"], 64, 2, 128, rounded=False)
    number, programs = tiles(65, chosen.block_n + 1, chosen)
    assert (number, programs) == (2, 4)
