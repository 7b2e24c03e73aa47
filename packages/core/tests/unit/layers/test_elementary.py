from __future__ import annotations

import pytest
import torch

from kernelet.layers import elementary
from kernelet.layers.rotary import RopeRows

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def rows(dtype, n=16):
    return torch.randn(5, n, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rms_norm_is_its_formula_rounded_once(dtype):
    x = rows(dtype)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    weight = torch.linspace(0.5, 2, 16, dtype=wide)
    exact = x.double()
    expected = exact / (exact.pow(2).mean(-1, keepdim=True) + 1e-3).sqrt() * weight.double()
    found = elementary.rms_norm(x, weight, 1e-3)
    assert found.dtype == dtype
    assert ((found.double() - expected).abs() <= expected.abs() * torch.finfo(dtype).eps * 4).all()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_layer_norm_is_its_formula(dtype, bias):
    x = rows(dtype)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    weight = torch.linspace(0.5, 2, 16, dtype=wide)
    shift = torch.linspace(-1, 1, 16, dtype=wide) if bias else None
    exact = x.double()
    expected = (exact - exact.mean(-1, keepdim=True)) / (exact.var(-1, unbiased=False, keepdim=True) + 1e-3).sqrt()
    expected = expected * weight + (0 if shift is None else shift)
    found = elementary.layer_norm(x, weight, shift, 1e-3)
    assert found.dtype == dtype
    assert ((found.double() - expected).abs() <= (expected.abs() + 1) * torch.finfo(dtype).eps * 8).all()


def test_norm_of_large_half_values_does_not_overflow():
    x = torch.full((1, 8), 60000.0, dtype=torch.float16)
    assert elementary.rms_norm(x, torch.ones(8), 1e-6).tolist() == [[1.0] * 8]


def rope_rows(angles, *, interleaved):
    cos, sin = angles.cos(), angles.sin()
    if interleaved:
        cos, sin = cos.repeat_interleave(2, -1), torch.stack((-sin, sin), -1).flatten(-2)
    else:
        cos, sin = torch.cat((cos, cos), -1), torch.cat((-sin, sin), -1)
    return RopeRows(cos[:, None], sin[:, None], interleaved)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("size", [8, 4])
def test_rotary_rotates_each_pair_by_its_angle(interleaved, size):
    x = torch.randn(3, 2, 8, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    angles = torch.rand(3, size // 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64) * 6
    found = elementary.rotary(x.clone(), rope_rows(angles, interleaved=interleaved))
    for pair in range(size // 2):
        first, second = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + size // 2)
        turned = torch.complex(x[..., first], x[..., second]) * torch.exp(1j * angles[:, None, pair])
        torch.testing.assert_close(found[..., first], turned.real)
        torch.testing.assert_close(found[..., second], turned.imag)
    assert torch.equal(found[..., size:], x[..., size:])


def test_rotary_of_bfloat16_rounds_once():
    x = torch.randn(4, 2, 8, generator=torch.Generator().manual_seed(2)).bfloat16()
    angles = torch.rand(4, 4)
    exact = elementary.rotary(x.float(), rope_rows(angles, interleaved=False))
    assert torch.equal(elementary.rotary(x.clone(), rope_rows(angles, interleaved=False)), exact.bfloat16())


def test_act_and_mul_gates_with_the_first_half():
    x = torch.tensor([[-1.0, 2.0, 3.0, 5.0]])
    assert elementary.act_and_mul(x, "relu").tolist() == [[0.0, 10.0]]
    assert x.tolist() == [[-1.0, 2.0, 3.0, 5.0]]


def test_activation_and_add():
    assert elementary.activation(torch.tensor([-1.0, 2.0]), "relu2").tolist() == [0.0, 4.0]
    assert elementary.add(torch.tensor([1.0]), torch.tensor([3.0]), 0.5).tolist() == [2.5]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_does_not_depend_on_the_others(dtype):
    x = rows(dtype, 64)
    weight = torch.rand(64, dtype=torch.float64 if dtype == torch.float64 else torch.float32)
    for op in (
        lambda x: elementary.rms_norm(x, weight, 1e-6),
        lambda x: elementary.layer_norm(x, weight, weight, 1e-6),
        lambda x: elementary.act_and_mul(x, "silu"),
    ):
        assert torch.equal(op(x)[2:3], op(x[2:3]))
