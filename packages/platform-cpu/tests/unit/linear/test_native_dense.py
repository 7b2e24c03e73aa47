from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, WeightScheme
from kernelet_platform_cpu.linear import native_dense
from kernelet_platform_cpu.linear.native_dense import NativeDense

ROUNDING = {torch.float64: 1e-14, torch.float32: 1e-6, torch.float16: 6e-4, torch.bfloat16: 4.5e-3}


def kernel(role="linear"):
    return NativeDense(Settings(plugin="platform-cpu"), role, DENSE)


def drawn(seed, dtype, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
def test_any_shape_with_the_same_bits_in_every_batch(isa, dtype):
    @given(
        outputs=st.integers(1, 70),
        inputs=st.one_of(st.integers(1, 40), st.integers(500, 600)),
        rows=st.integers(1, 30),
        seed=st.integers(0, 99),
        with_bias=st.booleans(),
    )
    def holds(outputs, inputs, rows, seed, with_bias):
        weight, x = drawn(seed, dtype, outputs, inputs), drawn(seed + 100, dtype, rows, inputs)
        bias = drawn(seed + 200, dtype, outputs) if with_bias else None
        made = kernel()
        prepared = made.prepare({"weight": weight})
        got = made.apply(x, prepared, bias)
        terms = x.double().abs() @ weight.double().abs().T
        expected = x.double() @ weight.double().T + (0 if bias is None else bias.double())
        accumulated = 1e-15 if dtype is torch.float64 else 1e-7
        allowed = ROUNDING[dtype] * expected.abs() + accumulated * inputs**0.5 * 4 * terms + 1e-30
        assert got.dtype is dtype
        assert bool(((got.double() - expected).abs() <= allowed).all())
        for first, last in ((0, 1), (rows - 1, rows), (0, rows // 2), (rows // 3, rows)):
            assert torch.equal(made.apply(x[first:last], prepared, bias), got[first:last])
        assert torch.equal(made.rows(torch.arange(outputs), prepared), weight)

    holds()


def test_long_prompts_are_computed_in_parts_without_a_change_of_bits(isa):
    weight, x = drawn(0, torch.bfloat16, 70, 200), drawn(1, torch.bfloat16, 1200, 200)
    made = kernel()
    prepared = made.prepare({"weight": weight})
    got = made.apply(x, prepared, None)
    torch.testing.assert_close(got.double(), x.double() @ weight.double().T, atol=0.1, rtol=4.5e-3)
    assert torch.equal(torch.cat([made.apply(part, prepared, None) for part in x.split(7)]), got)


def test_inputs_and_weights_may_be_views(isa):
    wide, x = drawn(0, torch.float32, 40, 64), drawn(1, torch.float32, 5, 48)
    made = kernel()
    for weight in (wide[:, 8:32], wide[::2, :24], wide[:, ::2][:, :24], wide.T[:24].T):
        got = made.apply(x[:, ::2], made.prepare({"weight": weight}), None)
        torch.testing.assert_close(got.double(), x[:, ::2].double() @ weight.double().T, atol=1e-4, rtol=1e-5)


def test_numbers_that_are_not_finite_stay_in_their_row_and_column(isa):
    weight, x = drawn(0, torch.bfloat16, 20, 30), drawn(1, torch.bfloat16, 9, 30)
    x[2, 3], weight[5, 7] = torch.nan, torch.inf
    made = kernel()
    finite = made.apply(x, made.prepare({"weight": weight}), None).isfinite()
    assert finite.sum() == 8 * 19
    assert not finite[2].any()
    assert not finite[:, 5].any()


def test_every_expert_has_its_weight(isa):
    weight, x = drawn(2, torch.bfloat16, 3, 19, 21), drawn(3, torch.bfloat16, 4, 21)
    made = kernel("grouped_linear")
    prepared = made.prepare({"weight": weight})
    one = kernel()
    for expert in range(3):
        alone = one.apply(x, one.prepare({"weight": weight[expert]}), None)
        assert torch.equal(made.apply_grouped(x, prepared, expert), alone)


def test_a_table_stays_as_it_is(isa):
    table, made = drawn(0, torch.bfloat16, 9, 4), kernel("embedding")
    assert made.prepare({"weight": table}) is table
    assert torch.equal(made.apply(torch.tensor([8, 0, 8]), table, None), table[[8, 0, 8]])
    assert made.layout("bfloat16") == ""
    assert not made.has_rows("bfloat16")


@pytest.mark.parametrize("role", ["linear", "grouped_linear"])
def test_what_was_exported_is_restored(isa, role):
    weight, x = drawn(0, torch.float16, 2, 37, 24), drawn(1, torch.float16, 3, 24)
    made, other = kernel(role), kernel(role)
    prepared = made.prepare({"weight": weight if role == "grouped_linear" else weight[0]})
    tensors = {name: tensor.clone() for name, tensor in made.export(prepared).items()}
    assert all(tensor.is_contiguous() for tensor in tensors.values())
    restored = other.restore(tensors)
    if role == "linear":
        assert torch.equal(other.apply(x, restored, None), made.apply(x, prepared, None))
    else:
        assert torch.equal(other.apply_grouped(x, restored, 1), made.apply_grouped(x, prepared, 1))
    assert made.layout("float16")


def test_the_layout_names_the_width_of_vectors(isa):
    made = kernel()
    numbers = made.prepare({"weight": torch.ones(1, 3)}).panels.numel()
    assert str(numbers // 3) in made.layout("float32").split()


def test_says_what_it_does_not_serve(monkeypatch):
    refused = NativeDense.supports("linear", WeightScheme(element="int8"), "float32", (4, 4))
    assert not refused.ok
    assert "int8" in refused.reason
    assert "float8" in NativeDense.supports("linear", DENSE, "float8_e5m2", (4, 4)).reason
    monkeypatch.setattr(native_dense, "native", lambda: None)
    assert "not built" in NativeDense.supports("linear", DENSE, "float32", (4, 4)).reason
