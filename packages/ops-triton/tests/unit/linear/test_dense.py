from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, WeightScheme
from kernelet_ops_triton.linear.dense import TritonDense


def kernel(role, **options):
    return TritonDense(Settings(plugin="ops-triton", values={"batch_invariant": False, **options}), role, DENSE)


@pytest.mark.parametrize(
    "scheme, dtype, says",
    [
        (DENSE, "bfloat16", ""),
        (DENSE, "float64", "takes float32, float16, bfloat16, not float64"),
        (WeightScheme(element="int8"), "bfloat16", "serves unquantized weights only, not int8"),
    ],
)
def test_what_it_serves(scheme, dtype, says):
    answer = TritonDense.supports("linear", scheme, dtype, (8, 8))
    assert (answer.ok, answer.reason) == (not says, says)


def test_experts_and_rows():
    weight, x = torch.randn(3, 12, 20), torch.randn(4, 20)
    made = kernel("grouped_linear")
    found = made.apply_grouped(x, made.prepare({"weight": weight}), 1)
    torch.testing.assert_close(found, x @ weight[1].T, rtol=1e-5, atol=1e-5)
    table = kernel("embedding")
    ids = torch.tensor([11, 0, 11])
    assert torch.equal(table.apply(ids, table.prepare({"weight": weight[0]}), None), weight[0][ids])
    assert kernel("linear").has_rows("float32") and not table.has_rows("float32")
