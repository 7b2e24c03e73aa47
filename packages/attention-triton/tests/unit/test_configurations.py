from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet_attention_triton.configurations import (
    LayerShape,
    decode,
    padded,
    power_of_two,
    prefill,
    rows_of_write,
    segment_of,
    why_not,
)
from kernelet_device_triton.targets import INTERPRETER, TARGETS


@pytest.mark.parametrize("target", [INTERPRETER, *TARGETS.values()], ids=lambda t: t.name)
def test_every_shape_has_a_configuration(target):
    for head_size in (5, 64, 80, 128, 192, 256, 512):
        for group in (1, 3, 8, 71):
            for itemsize in (2, 4):
                shape = LayerShape(head_size=head_size, value_size=head_size, group=group, itemsize=itemsize)
                check(target, shape)
        assert power_of_two(rows_of_write(target, head_size)) == rows_of_write(target, head_size)


@pytest.mark.parametrize("target", [INTERPRETER, *TARGETS.values()], ids=lambda t: t.name)
@pytest.mark.parametrize("group", [1, 8, 20, 128])
def test_every_latent_shape_has_one(target, group):
    for itemsize in (2, 4):
        shape = LayerShape(head_size=576, value_size=512, group=group, itemsize=itemsize, is_latent=True)
        assert (shape.block_d, shape.block_r) == (512, 64)
        check(target, shape)
    assert bool(why_not(target, shape)) == (target.name == "gfx1100")


def check(target, shape):
    few, many = decode(target, shape), prefill(target, shape)
    for one in (few, many):
        assert 1 <= one.share <= min(shape.group, one.block_m)
        assert one.queries >= 1
        assert {power_of_two(n) for n in (one.block_m, one.block_n)} == {one.block_m, one.block_n}
        assert min(one.block_m, one.block_n) >= 16
    assert many.block_m >= few.block_m


@given(
    longest=st.integers(1, 200_000),
    programs=st.integers(1, 4096),
    wanted=st.integers(1, 512),
    block_n=st.sampled_from([16, 64]),
)
def test_segments_are_whole_steps_and_no_more_than_wanted(longest, programs, wanted, block_n):
    segment = segment_of(longest, programs, wanted, block_n, 2 * block_n)
    assert segment % block_n == 0
    assert segment >= 2 * block_n
    number = -(-longest // segment)
    assert number == 1 or number * programs <= wanted


def test_padding():
    assert [padded(size) for size in (1, 16, 17, 80, 128)] == [16, 16, 32, 128, 128]
