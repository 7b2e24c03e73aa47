from __future__ import annotations

import pytest
import torch

from kernelet_platform_cpu.linear.native_dense import pack
from kernelet_platform_cpu.linear.packed import gather, multiply, number_of


def test_numbers_of_dtypes():
    assert [number_of(dtype) for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64)] == [0, 1, 2, 3]


def test_wrong_arguments_are_refused(isa):
    packed = pack(torch.ones(1, 6, 4)).linear
    with pytest.raises(ValueError, match=r"x is \[2, 5\]; this weight takes \[tokens, 4\]"):
        multiply(packed, torch.ones(2, 5))
    with pytest.raises(ValueError, match=r"the bias is torch.float32 \[7\]; it must be torch.float32 \[6\]"):
        multiply(packed, torch.ones(2, 4), torch.ones(7))
    with pytest.raises(ValueError, match=r"the bias is torch.float64"):
        multiply(packed, torch.ones(2, 4), torch.ones(6, dtype=torch.float64))
    with pytest.raises(ValueError, match="float64 goes with float64 weights only"):
        multiply(packed, torch.ones(2, 4, dtype=torch.float64))


def test_strided_bias(isa):
    bias = torch.arange(12.0)[::2]
    assert torch.equal(multiply(pack(torch.zeros(1, 6, 4)).linear, torch.ones(1, 4), bias)[0], bias)


@pytest.mark.parametrize("wrong", [-1, 6])
def test_ids_outside_of_the_table_are_refused(isa, wrong):
    packed = pack(torch.ones(1, 6, 4)).linear
    with pytest.raises(IndexError, match=f"id {wrong} of a table of 6 rows"):
        gather(packed, torch.tensor([0, wrong]), torch.float32)


def test_rows_of_many_ids(isa):
    table = torch.randn(100, 30, generator=torch.Generator().manual_seed(0))
    ids = torch.arange(3000).reshape(3, -1).T % 100  # not contiguous
    assert torch.equal(gather(pack(table[None]).linear, ids, torch.float32), table[ids])
