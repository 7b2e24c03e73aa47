from __future__ import annotations

import pytest
import torch

from kernelet.layers.norm import RMSNorm
from kernelet.layers.weights import Shard
from kernelet.testing.tensors import make_context
from kernelet_ops_triton.ops.composite import add_norm


class Halved(RMSNorm):
    def forward(self, x):
        return super().forward(x) / 2


def made(kind):
    norm = kind(make_context(dtype=torch.bfloat16), "norm", Shard.whole(32), 1e-5)
    norm.weight = torch.randn(32)
    return norm


def test_a_row_has_the_same_bits_in_every_batch():
    norm, residual, x = made(RMSNorm), torch.randn(70, 32), torch.randn(70, 32).to(torch.bfloat16)
    among = add_norm(residual, x, 0.5, norm)
    for part in (slice(0, 1), slice(61, 68)):
        alone = add_norm(residual[part], x[part], 0.5, norm)
        assert all(torch.equal(one, other[part]) for one, other in zip(alone, among, strict=True))


@pytest.mark.parametrize("kind", [RMSNorm, Halved])
def test_a_norm_that_is_not_known_is_asked(kind):
    norm, residual, x = made(kind), torch.randn(3, 32), torch.randn(3, 32).to(torch.bfloat16)
    found, total = add_norm(residual, x, 1.0, norm)
    torch.testing.assert_close(total, residual + x.float(), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found, norm.forward(total), rtol=2**-7, atol=2**-7)
