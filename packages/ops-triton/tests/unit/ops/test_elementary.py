from __future__ import annotations

import pytest
import torch

from kernelet.layers import elementary as plain
from kernelet_ops_triton.ops import elementary


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_row_has_the_same_bits_in_every_batch(dtype):
    x, weight = torch.randn(70, 96).to(dtype), torch.randn(96)
    for op in (
        lambda rows: elementary.rms_norm(rows, weight, 1e-5),
        lambda rows: elementary.layer_norm(rows, weight, None, 1e-5),
        lambda rows: elementary.act_and_mul(rows, "silu"),
        lambda rows: elementary.activation(rows, "gelu"),
    ):
        among = op(x)
        for part in (slice(0, 1), slice(3, 8), slice(63, 70)):
            assert torch.equal(op(x[part]), among[part])


def test_leading_axes_are_rows():
    x, weight = torch.randn(2, 3, 16), torch.randn(16)
    found = elementary.rms_norm(x, weight, 1e-5)
    torch.testing.assert_close(found, plain.rms_norm(x, weight, 1e-5), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(elementary.activation(x, "relu2"), plain.activation(x, "relu2"))


def test_wide_rows():
    """Wider than what the language allows a tile of many of them."""
    x, weight = torch.randn(65, 28672), torch.randn(28672)
    torch.testing.assert_close(elementary.rms_norm(x, weight, 1e-5), plain.rms_norm(x, weight, 1e-5))
    torch.testing.assert_close(elementary.activation(x, "relu2"), plain.activation(x, "relu2"))


def test_an_activation_without_a_kernel_is_decomposed():
    with pytest.raises(KeyError, match="nobody's"):
        elementary.activation(torch.zeros(1, 2), "nobody's")
