from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.testing.weight_kernel import dequantize, make_weights
from kernelet_platform_cpu.cpuinfo import cpu_flags
from kernelet_platform_cpu.linear.torch_int import TorchInt, rounded

GROUPS = (ScaleLevel("float32", (1, 16)),)


def kernel(scheme, role="linear"):
    return TorchInt(Settings(plugin="platform-cpu"), role, scheme)


@pytest.mark.skipif("avx512f" in cpu_flags(), reason="torch's AVX-512 kernels have not been looked at yet")
def test_a_row_has_the_same_bits_wherever_it_stands():
    scheme = WeightScheme(element="int4", scales=GROUPS, zero_point="int")
    made = kernel(scheme)
    prepared = made.prepare(make_weights(scheme, (70, 129), torch.float32, 0))
    x = torch.randn(40, 129, generator=torch.Generator().manual_seed(0))
    got = made.apply(x, prepared, None)
    for shift in (1, 7, 16, 39):
        assert torch.equal(made.apply(x.roll(shift, 0), prepared, None).roll(-shift, 0), got)


def test_it_is_the_dequantized_product():
    scheme = WeightScheme(element="uint4", scales=GROUPS, zero_point="float", permuted=True)
    weights = make_weights(scheme, (12, 40), torch.float64, 0)
    made = kernel(scheme)
    x = torch.randn(3, 40, dtype=torch.float64)
    expected = x @ dequantize(weights, scheme).T
    torch.testing.assert_close(made.apply(x, made.prepare(weights), None), expected)
    table = kernel(scheme, "embedding")
    rows = table.apply(torch.tensor([11, 0]), table.prepare(weights), None)
    torch.testing.assert_close(rows.double(), dequantize(weights, scheme)[[11, 0]])


def test_inputs_are_rounded_to_even_multiples_of_their_scale():
    x = torch.tensor([[127.0, 0.5, 1.5, -200.0], [0.0, 0.0, 0.0, 0.0], [1.0, torch.nan, 0.0, 0.0]])
    steps, scales = rounded(x[:, :3], torch.zeros(()))
    assert steps[0].tolist() == [127.0, 0.0, 2.0]
    assert scales[:2].flatten().tolist() == [1.0, 0.0]
    assert not steps[1].any()
    assert scales[2].isnan()
    steps, scales = rounded(x[:2], torch.tensor(1.0))
    assert steps[0].tolist() == [127.0, 0.0, 2.0, -127.0]
    assert scales.flatten().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("dtype", ["float8_e5m2", "int8"])
def test_refuses_other_dtypes(dtype):
    answer = TorchInt.supports("linear", WeightScheme(element="int4", scales=GROUPS), dtype, (4, 16))
    assert not answer.ok
    assert dtype in answer.reason
