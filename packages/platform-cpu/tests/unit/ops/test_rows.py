from __future__ import annotations

import pytest
import torch

from kernelet_platform_cpu.ops.rows import address, is_wide_of, rows_of


@pytest.mark.parametrize(
    "take, count, stride, copied",
    [
        (lambda x: x, 12, 8, False),
        (lambda x: x[1:], 8, 8, False),
        (lambda x: x[:, 1, :3], 3, 32, False),
        (lambda x: x[:, 1:3], 6, 8, True),
        (lambda x: x[0].T, 8, 4, True),
        (lambda x: x[:0], 0, 8, False),
    ],
)
def test_rows_are_what_the_tensor_holds(take, count, stride, copied):
    x = take(torch.arange(96.0).view(3, 4, 8))
    rows = rows_of(x)
    assert (rows.length, rows.stride) == (count, stride)
    assert (rows.address != x.data_ptr()) == copied
    seen = rows.tensor.as_strided((count, x.shape[-1]), (stride, 1))
    assert torch.equal(seen, x.reshape(-1, x.shape[-1]))


def test_nothing_has_no_address():
    assert address(None) == 0
    assert address(x := torch.ones(2)) == x.data_ptr()


def test_a_residual_stream_is_wide():
    half, single, double = (torch.ones(1, dtype=dtype) for dtype in (torch.bfloat16, torch.float32, torch.float64))
    assert is_wide_of(single, half)
    assert is_wide_of(double, double)
    assert not is_wide_of(half, half)
    assert not is_wide_of(double, single)
