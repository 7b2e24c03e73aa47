from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, WeightScheme
from kernelet_platform_cpu.cpuinfo import cpu_flags
from kernelet_platform_cpu.linear import torch_dense
from kernelet_platform_cpu.linear.torch_dense import TorchDense

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 2e-2}


FLAGS = cpu_flags()
CAN_PACK = "avx_ne_convert" in FLAGS or {"avx512bw", "avx512vl", "avx512dq"} <= FLAGS
HARDWARE = pytest.param(
    True, id="with bfloat16 hardware", marks=pytest.mark.skipif(not CAN_PACK, reason="oneDNN cannot pack bfloat16 here")
)


@pytest.fixture(params=[HARDWARE, pytest.param(False, id="without")])
def kernel(request, monkeypatch):
    monkeypatch.setattr(torch_dense, "multiplies_bfloat16", lambda flags: request.param)
    return lambda role, **values: TorchDense(Settings(plugin="platform-cpu", values=values), role, DENSE)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("rows", [1, 3, 40])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(kernel, dtype, rows, bias):
    torch.manual_seed(0)
    weight, x = torch.randn(37, 24).to(dtype), torch.randn(rows, 48).to(dtype)[:, ::2]
    b = torch.randn(37).to(dtype) if bias else None
    made = kernel("linear")
    got = made.apply(x, made.prepare({"weight": weight}), b)
    expected = x.double() @ weight.double().T + (0 if b is None else b.double())
    assert got.dtype is dtype
    torch.testing.assert_close(got.double(), expected, atol=TOLERANCE[dtype] * 8, rtol=TOLERANCE[dtype])


@pytest.mark.parametrize(
    "dtype, outputs, inputs",
    [(torch.float64, 37, 23), *((dtype, *shape) for dtype in TOLERANCE for shape in ((64, 576), (130, 1536)))],
)
def test_a_row_has_the_same_bits_in_every_batch(kernel, dtype, outputs, inputs):
    torch.manual_seed(2)
    weight, x, bias = (torch.randn(*size).to(dtype) for size in ((outputs, inputs), (70, inputs), (outputs,)))
    made = kernel("linear")
    prepared = made.prepare({"weight": weight})
    alone = torch.cat([made.apply(row[None], prepared, bias) for row in x])
    for rows in (2, 3, 15, 16, 17, 33, 70):
        for start in (0, 70 - rows):
            assert torch.equal(made.apply(x[start : start + rows], prepared, bias), alone[start : start + rows])
    alone = torch.cat([made.apply(row[None], prepared, None) for row in x])
    assert torch.equal(made.apply_grouped(x, [prepared], 0), alone)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_grouped_linear(kernel, dtype):
    torch.manual_seed(1)
    weight, x = torch.randn(3, 16, 8).to(dtype), torch.randn(5, 8).to(dtype)
    made = kernel("grouped_linear")
    prepared = made.prepare({"weight": weight})
    for expert in range(3):
        expected = x.double() @ weight[expert].double().T
        torch.testing.assert_close(made.apply_grouped(x, prepared, expert).double(), expected, atol=0.1, rtol=2e-2)


def test_embedding(kernel):
    table = torch.randn(9, 4).to(torch.bfloat16)
    made = kernel("embedding")
    assert torch.equal(made.apply(torch.tensor([8, 0, 8]), made.prepare({"weight": table}), None), table[[8, 0, 8]])


def test_packing_is_for_bfloat16_with_hardware_only(kernel):
    packs = torch_dense.multiplies_bfloat16(None)
    weight = torch.randn(32, 16)
    assert kernel("linear").prepare({"weight": weight}) is weight
    assert kernel("linear").prepare({"weight": weight.bfloat16()}).is_mkldnn == packs
    assert not kernel("linear", prepack=False).prepare({"weight": weight.bfloat16()}).is_mkldnn


def test_only_dense_weights():
    assert TorchDense.supports("linear", DENSE, "float32", (4, 4)).ok
    refused = TorchDense.supports("linear", WeightScheme(element="int8"), "float32", (4, 4))
    assert not refused.ok
    assert "int8" in refused.reason
