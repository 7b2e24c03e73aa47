from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE
from kernelet.layers.side_by_side import SideBySide
from kernelet.testing.weight_kernel import ReferenceKernel

A, B, X = torch.randn(3, 5), torch.randn(2, 5), torch.randn(4, 5)


def kernels(role):
    return SideBySide([ReferenceKernel(Settings(plugin="p"), role, DENSE) for _ in range(2)], [3, 2])


def test_outputs_are_side_by_side():
    bias = torch.randn(5)
    for given in (None, bias):
        found = kernels("linear").apply(X, (A, B), given)
        expected = X.double() @ torch.cat([A, B]).double().T + (0 if given is None else given.double())
        torch.testing.assert_close(found, expected.float())


def test_outputs_of_an_expert():
    up, down = torch.stack([A, -A]), torch.stack([B, 2 * B])
    found = kernels("grouped_linear").apply_grouped(X, (up, down), 1)
    torch.testing.assert_close(found, X @ torch.cat([-A, 2 * B]).T)


def test_it_is_neither_selected_nor_prepared():
    assert not SideBySide.supports("linear", DENSE, "float32", (5, 5)).ok
    with pytest.raises(NotImplementedError, match="its own kernel"):
        kernels("linear").prepare({"weight": A})
