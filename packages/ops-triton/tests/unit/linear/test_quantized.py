from __future__ import annotations

import msgspec
import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.testing.weight_kernel.reference import dequantize, rounded
from kernelet.testing.weight_kernel.schemes import make_weights
from kernelet_ops_triton.linear.quantized import TritonQuantized

INT4 = WeightScheme(element="int4", scales=(ScaleLevel("float16", (1, 64)),), zero_point="int", permuted=True)
INT8 = msgspec.structs.replace(INT4, permuted=False, activation="dynamic", activation_element="int8")
FLOAT8 = WeightScheme(
    element="e4m3fn",
    scales=(ScaleLevel("float32", (128, 128)),),
    activation="dynamic",
    activation_element="e4m3fn",
)


def kernel(role, scheme, *, batch_invariant):
    settings = Settings(plugin="ops-triton", values={"batch_invariant": batch_invariant})
    return TritonQuantized(settings, role, scheme)


@pytest.mark.parametrize("scheme", [INT4, INT8, FLOAT8], ids=lambda scheme: scheme.describe())
def test_a_row_has_the_same_bits_in_every_batch(scheme):
    weights = make_weights(scheme, (70, 160), torch.bfloat16, seed=1)
    made = kernel("linear", scheme, batch_invariant=True)
    prepared, x = made.prepare(weights), torch.randn(80, 160).to(torch.bfloat16)
    among = made.apply(x, prepared, None)
    wanted = rounded(x, scheme) @ dequantize(weights, scheme).T
    torch.testing.assert_close(among.double(), wanted, rtol=3e-2, atol=3e-2)
    for part in (slice(0, 1), slice(13, 33)):
        assert torch.equal(made.apply(x[part], prepared, None), among[part])


def test_experts():
    weights = make_weights(INT8, (3, 20, 64), torch.float32, seed=2)
    made = kernel("grouped_linear", INT8, batch_invariant=False)
    prepared, x = made.prepare(weights), torch.randn(5, 64)
    for expert in range(3):
        wanted = rounded(x, INT8) @ dequantize(weights, INT8)[expert].T
        found = made.apply_grouped(x, prepared, expert)
        torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-4)


def test_e4m3fn_without_the_conversion_of_the_device(monkeypatch):
    """The same bits as read by plain arithmetic."""
    weights, x = make_weights(FLOAT8, (20, 256), torch.float32, seed=4), torch.randn(3, 256)
    made = kernel("linear", FLOAT8, batch_invariant=False)
    native = made.apply(x, made.prepare(weights), None)
    monkeypatch.setattr("kernelet_ops_triton.linear.launch.INTERPRETER", None)
    plain = made.apply(x, made.prepare(weights), None)
    torch.testing.assert_close(plain, native, rtol=1e-6, atol=1e-6)
