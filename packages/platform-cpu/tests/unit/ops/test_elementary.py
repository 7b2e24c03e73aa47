"""Functions over all of their range; the rest is held by the suite of the test kit."""

from __future__ import annotations

import pytest
import torch

from kernelet.layers import elementary as decomposed
from kernelet.layers.activation import ACTIVATIONS as FORMULAS
from kernelet.layers.rotary import RopeRows
from kernelet_platform_cpu.native import native
from kernelet_platform_cpu.ops import elementary

pytestmark = pytest.mark.skipif(native() is None, reason="platform-cpu has no kernels of its own here")

GRID = torch.cat([torch.linspace(-110, 110, 20001), torch.logspace(-30, 2, 4001), -torch.logspace(-30, 2, 4001)])
DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64]


@pytest.mark.parametrize("name", elementary.ACTIVATIONS)
def test_activations_are_exact_to_the_last_bits(name):
    found = elementary.activation(GRID.clone(), name).double()
    expected = FORMULAS[name](GRID.double())
    # near zero of gelu the result is a difference of nearly equal numbers
    error = (found - expected).abs() / (
        expected.abs() + GRID.double().abs() * (0.25 if name == "gelu" else 1e-6) + 1e-37
    )
    assert error.max() < 1e-6


@pytest.mark.parametrize("name", elementary.ACTIVATIONS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_results_in_16_bits_are_rounded_once(name, dtype):
    x = torch.randn(33, 2 * 21, generator=torch.Generator().manual_seed(3)).to(dtype)
    wide = elementary.act_and_mul(x.float(), name)
    assert torch.equal(elementary.act_and_mul(x, name), wide.to(dtype))


def test_every_number_of_16_bits_is_read_and_written_as_torch_does():
    bits = torch.arange(1 << 16).to(torch.int32).to(torch.int16)
    for dtype in (torch.bfloat16, torch.float16):
        x = bits.view(dtype)
        number = ~x.isnan()
        same = elementary.add(x, torch.zeros_like(x), 1.0)
        assert torch.equal(same[number], x[number])
        assert same[~number].isnan().all()
        # products of two of them are exact in float32, and rounded as torch rounds: ties, subnormal, infinite
        other = x[torch.randperm(1 << 16, generator=torch.Generator().manual_seed(2))]
        exact = x.float().relu() * other.float()
        found = elementary.act_and_mul(torch.stack([x, other]).view(1, -1), "relu")[0]
        assert torch.equal(found.nan_to_num(7.0, 8.0, 9.0), exact.to(dtype).nan_to_num(7.0, 8.0, 9.0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 7, 64, 577])
def test_bits_of_a_row_do_not_depend_on_the_others(dtype, size):
    x = torch.randn(301, size, generator=torch.Generator().manual_seed(5)).to(dtype)
    weight = torch.linspace(0.5, 1.5, size).to(torch.float64 if dtype is torch.float64 else torch.float32)
    for norm in (
        lambda x: elementary.rms_norm(x, weight, 1e-5),
        lambda x: elementary.layer_norm(x, weight, None, 1e-5),
    ):
        together = norm(x)
        assert all(torch.equal(norm(x[row : row + 1])[0], together[row]) for row in (0, 3, 150, 300))


def test_a_weight_of_another_dtype_is_decomposed():
    x, weight = torch.randn(3, 8), torch.rand(8, dtype=torch.float64)
    assert torch.equal(elementary.rms_norm(x, weight, 1e-5), decomposed.rms_norm(x, weight, 1e-5))


def test_what_the_kernels_do_not_know_is_decomposed(monkeypatch):
    cubed = {"cube": lambda x: x**3}
    monkeypatch.setattr("kernelet.layers.elementary.ACTIVATIONS", cubed)
    x = torch.tensor([[2.0, 3.0]])
    assert elementary.activation(x, "cube").tolist() == [[8.0, 27.0]]
    assert elementary.act_and_mul(x.clone(), "cube").tolist() == [[24.0]]
    assert elementary.add(x, torch.tensor([1.0]), 2.0).tolist() == [[4.0, 5.0]]


def test_a_rotation_whose_rows_are_not_side_by_side():
    generator = torch.Generator().manual_seed(1)
    cos, sin = (torch.randn(3, 1, 16, generator=generator)[..., ::2] for _ in range(2))
    x = torch.randn(3, 2, 8, generator=generator)
    expected = decomposed.rotary(x.clone(), RopeRows(cos, sin, interleaved=True))
    torch.testing.assert_close(elementary.rotary(x, RopeRows(cos, sin, interleaved=True)), expected)
