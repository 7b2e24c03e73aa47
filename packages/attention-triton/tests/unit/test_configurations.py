from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet_attention_triton.configurations import decode, padded, power_of_two, prefill, rows_of_write, segment_of
from kernelet_device_triton.targets import INTERPRETER, TARGETS


@pytest.mark.parametrize("target", [INTERPRETER, *TARGETS.values()], ids=lambda t: t.name)
def test_every_shape_has_a_configuration(target):
    for head_size in (5, 64, 80, 128, 192, 256, 512):
        for group in (1, 3, 8, 71):
            for itemsize in (2, 4):
                few, many = (choose(target, head_size, itemsize, group) for choose in (decode, prefill))
                for one in (few, many):
                    assert one.block_m >= max(16, group)
                    assert {power_of_two(n) for n in (one.block_m, one.block_n)} == {one.block_m, one.block_n}
                assert many.block_m >= few.block_m
        assert power_of_two(rows_of_write(target, head_size)) == rows_of_write(target, head_size)


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
