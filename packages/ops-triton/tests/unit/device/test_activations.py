from __future__ import annotations

import pytest
import torch

from kernelet.layers.activation import ACTIVATIONS
from kernelet_ops_triton.device.activations import activate
from kernelet_ops_triton.ops.elementary import KINDS


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("gated", [False, True])
def test_activations(name, gated):
    rows, size = 3, 40
    x = torch.randn(rows, 2 * size) * 4
    x[0, :4] = torch.tensor([0.0, -0.0, 90.0, -90.0])
    x[2, 5] = torch.nan
    found = torch.empty(rows, size)
    activate[2, 2](x, found, rows, 2 * size, size=size, kind=KINDS[name], gated=gated, block_m=2, block_n=32)
    wanted = ACTIVATIONS[name](x[:, :size])
    wanted = wanted * x[:, size:] if gated else wanted
    torch.testing.assert_close(found, wanted, rtol=2e-5, atol=2e-6, equal_nan=True)


def test_each_activation_has_a_kernel():
    assert set(KINDS) == set(ACTIVATIONS)
