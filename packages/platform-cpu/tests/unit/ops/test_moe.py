from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, ScaleLevel, WeightScheme
from kernelet.layers import composite
from kernelet.layers.moe import Experts, Routing
from kernelet.testing.tensors import make_context
from kernelet.testing.weight_kernel import make_weights
from kernelet_platform_cpu.linear.native_dense import NativeDense
from kernelet_platform_cpu.linear.native_quantized import NativeQuantized
from kernelet_platform_cpu.native import native
from kernelet_platform_cpu.ops import elementary, moe
from kernelet_platform_cpu.ops.moe import NativeMoE

HIDDEN, MIDDLE, EXPERTS = 24, 20, 8
SETTINGS = Settings(plugin="platform-cpu")
INT4 = WeightScheme(
    element="int4", scales=(ScaleLevel("float32", (1, 8)),), activation="dynamic", activation_element="int8"
)
pytestmark = pytest.mark.skipif(native() is None, reason="platform-cpu has no kernels of its own here")


def make_experts(scheme=DENSE, dtype=torch.bfloat16, activation="silu"):
    kernel = NativeDense if scheme == DENSE else NativeQuantized
    experts = Experts(
        make_context(dtype=dtype), "experts", num_experts=EXPERTS, hidden=HIDDEN, middle=MIDDLE, activation=activation
    )
    experts.ops.act_and_mul = elementary.act_and_mul
    experts.up_kernel, experts.down_kernel = (kernel(SETTINGS, "grouped_linear", scheme) for _ in range(2))
    shapes = ((EXPERTS, 2 * MIDDLE, HIDDEN), (EXPERTS, HIDDEN, MIDDLE))
    up, down = (make_weights(scheme, shape, dtype, seed) for seed, shape in enumerate(shapes))
    experts.prepared_up, experts.prepared_down = experts.up_kernel.prepare(up), experts.down_kernel.prepare(down)
    return experts, up, down


def inputs(rows, dtype=torch.bfloat16):
    generator = torch.Generator().manual_seed(rows)
    x = torch.randn(rows, HIDDEN, generator=generator).to(dtype)
    return x, torch.randn(rows, EXPERTS, generator=generator).to(dtype)


@pytest.fixture
def not_decomposed(monkeypatch):
    def fail(*_):
        raise AssertionError("it was decomposed")

    monkeypatch.setattr(moe.composite, "moe", fail)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("scheme", [DENSE, INT4], ids=["dense", "int4"])
def test_the_same_bits_as_the_decomposition(scheme, dtype, not_decomposed):
    experts, _, _ = make_experts(scheme, dtype)
    native_moe = NativeMoE(SETTINGS)

    @settings(max_examples=20)
    @given(rows=st.integers(1, 40), top_k=st.integers(1, 3))
    def holds(rows, top_k):
        x, logits = inputs(rows, dtype)
        routing = Routing(router="top_k_softmax", top_k=top_k)
        found = native_moe(x, logits, experts, routing)
        assert found.dtype is dtype
        assert torch.equal(found, DECOMPOSED(experts.ops, x, logits, experts, routing))
        assert torch.equal(native_moe(x[-1:], logits[-1:], experts, routing)[0], found[-1])

    holds()


DECOMPOSED = composite.moe


def test_it_is_the_sum_of_the_chosen_networks(not_decomposed):
    experts, up, down = make_experts(dtype=torch.float64)
    x, logits = inputs(9, torch.float64)
    found = NativeMoE(SETTINGS)(x, logits, experts, Routing(router="top_k_softmax", top_k=2))
    for row in range(9):
        chosen = logits[row].topk(2)
        expected = torch.zeros(HIDDEN).double()
        for weight, expert in zip(chosen.values.softmax(0), chosen.indices, strict=True):
            gate, linear = (up["weight"][expert] @ x[row]).chunk(2)
            expected += weight * (down["weight"][expert] @ (torch.nn.functional.silu(gate) * linear))
        torch.testing.assert_close(found[row], expected)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_no_bit(threads, not_decomposed):
    module = native()
    experts, _, _ = make_experts(INT4)
    x, logits = inputs(700)
    routing = Routing(router="softmax_top_k", top_k=4)
    before = module.pool_threads()
    alone = NativeMoE(SETTINGS)(x, logits, experts, routing)
    module.start_pool(threads, [])
    try:
        assert torch.equal(NativeMoE(SETTINGS)(x, logits, experts, routing), alone)
    finally:
        module.start_pool(before, [])


def test_other_experts_are_decomposed(monkeypatch):
    experts, _, _ = make_experts()
    x, logits = inputs(3)
    routing = Routing(router="top_k_softmax", top_k=2)
    expected = NativeMoE(SETTINGS)(x, logits, experts, routing)
    calls = []
    monkeypatch.setattr(moe.composite, "moe", lambda *args: calls.append(args) or expected)
    op = NativeMoE(SETTINGS)
    op(x, logits, experts, routing)
    assert not calls
    op(x[:0], logits[:0], experts, routing)
    experts.prepared_up = object()
    assert op(x, logits, experts, routing) is expected
    assert len(calls) == 2


def test_weights_that_were_prepared_again_are_used(not_decomposed):
    experts, _, _ = make_experts()
    x, logits = inputs(3)
    routing, op = Routing(router="top_k_softmax", top_k=2), NativeMoE(SETTINGS)
    first = op(x, logits, experts, routing)
    experts.prepared_down = experts.down_kernel.prepare(
        make_weights(DENSE, (EXPERTS, HIDDEN, MIDDLE), torch.bfloat16, 7)
    )
    assert not torch.equal(op(x, logits, experts, routing), first)


def test_weights_must_fit_and_ids_must_be_experts(not_decomposed):
    module = native()
    experts, _, _ = make_experts()
    up, down = list(experts.prepared_up.linears), list(experts.prepared_down.linears)
    with pytest.raises(ValueError, match="two weights"):
        module.Experts(up, down[:1], 0)
    with pytest.raises(ValueError, match="do not fit"):
        module.Experts(down, up, 0)
    x, ids = inputs(1)[0], torch.tensor([EXPERTS])
    with pytest.raises(IndexError, match="no expert"):
        module.Experts(up, down, 0).apply(x.data_ptr(), 1, ids.data_ptr(), 1, torch.empty_like(x).data_ptr(), 1)
