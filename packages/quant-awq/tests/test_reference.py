"""Canonical tensors stand for exactly the weights that autoawq 0.2.9 packed."""

from __future__ import annotations

import foreign_code
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.offer import Settings
from kernelet.errors import UnsupportedModelError
from kernelet.testing.quantization.layers import layer_of, model_config
from kernelet.testing.weight_kernel.reference import dequantize
from kernelet_quant_awq.method import Awq

pytestmark = pytest.mark.network
NAME = "model.layers.3.mlp.up_proj"


@pytest.fixture(scope="module")
def autoawq():
    folder = foreign_code.fetch("autoawq", "0.2.9")
    names = ["awq.utils.packing_utils", "awq.utils.module", "awq.modules.linear.gemm", "awq.modules.linear.gemv"]
    packing, _, gemm, gemv = foreign_code.load(folder, names, ["triton"])
    gemm.get_best_device = lambda: "cpu"
    return packing, gemm.WQLinear_GEMM, gemv.WQLinear_GEMV


def method(**config):
    said = {"quant_method": "awq", "bits": 4, "zero_point": True, **config}
    return Awq(Settings(plugin="quant-awq"), said, model_config("awq", said))


def draw(rows, columns, group_size, seed):
    """Whole numbers, scales and zero points, and the weight that they are."""
    generator = torch.Generator().manual_seed(seed)
    size = columns if group_size == -1 else group_size
    whole = torch.randint(0, 16, (rows, columns), generator=generator)
    zeros = torch.randint(0, 16, (rows, columns // size), generator=generator)
    scales = (torch.rand(rows, columns // size, generator=generator) * 0.1 + 0.001).half()
    each, zero = (values.repeat_interleave(size, 1) for values in (scales.double(), zeros))
    return scales, zeros, (whole - zero) * each


def pack(kind, weight, scales, zeros, group_size):
    rows, columns = weight.shape
    linear = torch.nn.Linear(columns, rows, bias=False, dtype=torch.float64)
    linear.weight.data = weight
    size = columns if group_size == -1 else group_size
    return kind.from_linear(linear, 4, size, scales=scales.double(), zeros=zeros.double()).state_dict()


SIZES = st.tuples(st.integers(1, 4).map(lambda n: 32 * n), st.sampled_from([-1, 1, 7, 8, 16, 32, 40, 64, 128]))


@given(sizes=SIZES, groups=st.integers(1, 3), seed=st.integers(0, 999))
@settings(max_examples=40, deadline=None)
def test_gemm_is_read_as_autoawq_packs_it(autoawq, sizes, groups, seed):
    packing, gemm, _ = autoawq
    rows, group_size = sizes
    columns = 24 * groups if group_size == -1 else group_size * groups
    scales, zeros, weight = draw(rows, columns, group_size, seed)
    stored = pack(gemm, weight, scales.T.contiguous(), zeros.T.contiguous(), group_size)
    made, layer = method(group_size=group_size), layer_of(NAME, (rows, columns))
    found = dequantize(made.canonical(layer, stored), made.scheme(layer))
    assert torch.equal(found, weight)
    size = columns if group_size == -1 else group_size
    theirs = packing.dequantize_gemm(stored["qweight"], stored["qzeros"], stored["scales"].double(), 4, size)
    assert torch.equal(found, theirs.T)


@given(words=st.integers(1, 9), groups=st.integers(1, 3), seed=st.integers(0, 999))
@settings(max_examples=20, deadline=None)
def test_every_word_is_read_as_autoawq_does(autoawq, words, groups, seed):
    """Also of widths that autoawq reads and does not write."""
    generator = torch.Generator().manual_seed(seed)
    bits = {"dtype": torch.int32, "generator": generator}
    stored = {
        "qweight": torch.randint(-(2**31), 2**31 - 1, (16 * groups, words), **bits),
        "qzeros": torch.randint(-(2**31), 2**31 - 1, (groups, words), **bits),
        "scales": torch.rand(groups, 8 * words, generator=generator).half(),
    }
    made, layer = method(group_size=16), layer_of(NAME, (8 * words, 16 * groups))
    theirs = autoawq[0].dequantize_gemm(stored["qweight"], stored["qzeros"], stored["scales"].double(), 4, 16)
    assert torch.equal(dequantize(made.canonical(layer, stored), made.scheme(layer)), theirs.T)


@given(rows=st.integers(1, 6), group_size=st.sampled_from([32, 64, 128, 160]), groups=st.integers(1, 9))
@settings(max_examples=30, deadline=None)
def test_gemv_is_read_as_autoawq_packs_it(autoawq, rows, group_size, groups):
    scales, zeros, weight = draw(8 * rows, group_size * groups, group_size, rows)
    stored = pack(autoawq[2], weight, scales, zeros, group_size)
    made, layer = method(group_size=group_size, version="GEMV"), layer_of(NAME, tuple(weight.shape))
    assert torch.equal(dequantize(made.canonical(layer, stored), made.scheme(layer)), weight)


@pytest.mark.parametrize("shape, group_size", [((36, 64), 32), ((32, 72), 64), ((4, 64), -1)])
def test_what_autoawq_cannot_store_is_refused(autoawq, shape, group_size):
    with pytest.raises(AssertionError):
        autoawq[1](4, group_size, shape[1], shape[0], False, "cpu")
    with pytest.raises(UnsupportedModelError, match=f"{NAME}: AWQ stores no weight of {shape[0]} outputs"):
        method(group_size=group_size).scheme(layer_of(NAME, shape))


@pytest.mark.parametrize("group_size", [-1, 16, 48, 96])
def test_groups_that_gemv_does_not_have(autoawq, group_size):
    with pytest.raises(UnsupportedModelError, match=f"version gemv has no group_size {group_size}"):
        method(group_size=group_size, version="gemv")
    if group_size != -1:
        with pytest.raises(NotImplementedError):
            autoawq[2](4, group_size, 4 * group_size, 8, False, "cpu")
