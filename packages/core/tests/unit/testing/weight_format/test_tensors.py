from __future__ import annotations

import pytest
import torch

from kernelet.testing.weight_format.tensors import equal, make_tensors, random_tensor


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "uint8", "int64", "bool", "float8_e4m3fn"])
def test_random_values_differ(dtype):
    tensor = random_tensor(dtype, (50,), 1)
    assert tensor.dtype is getattr(torch, dtype)
    assert len(set(tensor.float().tolist())) >= 2
    assert equal(tensor, random_tensor(dtype, (50,), 1))
    assert not equal(tensor, random_tensor(dtype, (50,), 2))


def test_equal_is_about_bits():
    assert not equal(torch.tensor(0.0), torch.tensor(-0.0))
    assert equal(torch.tensor(torch.nan), torch.tensor(torch.nan))
    assert not equal(torch.zeros(2), torch.zeros(2, 1))
    assert not equal(torch.zeros(2), torch.zeros(2, dtype=torch.float64))


def test_names_are_in_no_order():
    made = make_tensors([("float32", (2, 2))] * 9 + [("int8", (3,))])
    assert len(made) == 10
    assert list(made) != sorted(made)
    assert made["model.layers.9.norm.weight"].dtype is torch.int8
