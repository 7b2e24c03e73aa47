from __future__ import annotations

import pytest
import torch
from acme_platform.ops import ActAndMul, rms_norm
from torch.nn import functional

from kernelet.contracts.offer import Settings

FORMULAS = {
    "silu": functional.silu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "relu": functional.relu,
    "relu2": lambda x: functional.relu(x) ** 2,
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
}


@pytest.fixture(scope="module")
def act_and_mul():
    return ActAndMul(Settings(plugin="acme-platform"))


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("dtype, relative", [(torch.float32, 1e-5), (torch.float64, 1e-13)])
def test_the_gate_in_cpp_is_torchs(act_and_mul, name, dtype, relative):
    """Torch's formulas in float64: they lose digits far below zero, hence 1e-13."""
    torch.manual_seed(0)
    for rows, width in ((1, 1), (3, 7), (5, 300), (0, 4), (70, 1024)):
        x = torch.randn(rows, 2 * width, dtype=dtype) * 4
        expected = FORMULAS[name](x[:, :width].double()) * x[:, width:]
        found = act_and_mul(x, name)
        assert found.dtype == dtype
        torch.testing.assert_close(found.double(), expected, rtol=relative, atol=1e-13)


def test_extremes_and_nan_are_torchs(act_and_mul):
    gate = torch.tensor([float("nan"), float("inf"), float("-inf"), 1e30, -1e30, 0.0, -0.0, 100.0, -100.0])
    x = torch.cat([gate, torch.full_like(gate, 2.0)])[None]
    for name, formula in FORMULAS.items():
        expected = (formula(gate.double()) * 2.0).float()  # in float32, vectors of it may give NaN for infinity
        torch.testing.assert_close(act_and_mul(x, name)[0], expected, equal_nan=True, msg=f"{name}: {expected}")


def test_rows_that_do_not_lie_side_by_side(act_and_mul):
    wide = torch.randn(6, 40)
    for x in (wide[::2, 10:30], wide.t()):
        half = x.shape[1] // 2
        torch.testing.assert_close(act_and_mul(x, "silu"), functional.silu(x[:, :half]) * x[:, half:])


@pytest.mark.parametrize(
    "x, name, message",
    [
        (torch.ones(2, 4), "selu", "no activation is named 'selu'"),
        (torch.ones(2, 3), "silu", "rows of 3 elements have no two halves"),
        (torch.ones(4), "silu", "got 1 dimensions"),
        (torch.ones(2, 4, dtype=torch.float16), "silu", "serves float32 and float64"),
    ],
)
def test_what_it_cannot_do_is_an_error(act_and_mul, x, name, message):
    with pytest.raises(RuntimeError, match=message):
        act_and_mul(x, name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_norm_is_torchs(dtype):
    torch.manual_seed(0)
    x, weight = torch.randn(5, 33, dtype=dtype), torch.randn(33, dtype=dtype)
    expected = functional.rms_norm(x, (33,), weight, 1e-6)
    torch.testing.assert_close(torch.ops.acme_platform.rms_norm(x, weight, 1e-6), expected)


def test_the_norm_is_known_to_torchs_compiler():
    torch.library.opcheck(rms_norm, (torch.randn(2, 3), torch.ones(3), 1e-6), test_utils=("test_faketensor",))
