from __future__ import annotations

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.testing.weight_kernel import dequantize, make_weights
from kernelet_platform_cpu.linear import native_quantized
from kernelet_platform_cpu.linear.native_quantized import NativeQuantized

ROUNDING = {torch.float64: 1e-13, torch.float32: 4e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}
ELEMENTS = ("int8", "uint8", "int4", "uint4", "int3", "uint2", "int6", "uint5", "e4m3fn", "e5m2")
FLOAT8 = ("e4m3fn", "e5m2")


def kernel(scheme, role="linear"):
    return NativeQuantized(Settings(plugin="platform-cpu"), role, scheme)


def rounded(x, element="int8"):
    """Scale and rounded numbers of each row, in numpy."""
    wide = x.double().numpy() if x.dtype is torch.float64 else x.float().numpy()
    most = {"int8": 127, "e4m3fn": 448, "e5m2": 57344}[element]
    scale = np.abs(wide).max(1, keepdims=True) / wide.dtype.type(most)
    steps = np.clip(np.divide(wide, scale, out=np.zeros_like(wide), where=scale > 0), -most, most)
    if element == "int8":
        return scale.astype(np.float64), np.rint(steps).astype(np.float64)
    steps = torch.from_numpy(steps).to(getattr(torch, f"float8_{element}")).double().numpy()
    return scale.astype(np.float64), steps


@st.composite
def schemes(draw):
    element = draw(st.sampled_from(ELEMENTS))
    points = (None, "offset") if element in FLOAT8 else ("int", "float", "offset")
    activation = draw(st.sampled_from([None, "dynamic"]))
    scales = [ScaleLevel(draw(st.sampled_from(["float32", "bfloat16", "float16"])), draw(st.sampled_from(BLOCKS)))]
    if draw(st.booleans()):
        below = draw(st.sampled_from(["uint8", "int8", "float16", "e4m3fn"]))
        scales = [ScaleLevel(below, (1, 16)), ScaleLevel(scales[0].dtype, draw(st.sampled_from([(1, 96), (0, 0)])))]
    return WeightScheme(
        element=element,
        scales=tuple(scales),
        zero_point=draw(st.sampled_from(points if element.startswith("u") else (None, *points))),
        permuted=draw(st.booleans()),
        activation=activation,
        activation_element=None if activation is None else draw(st.sampled_from(["int8", *FLOAT8])),
    )


BLOCKS = ((1, 0), (0, 0), (1, 8), (1, 32), (1, 128), (3, 40))


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
def test_any_scheme_and_shape_with_the_same_bits_in_every_batch(isa, dtype):
    @settings(max_examples=30)
    @given(
        scheme=schemes(),
        outputs=st.integers(1, 70),
        inputs=st.integers(1, 300),
        rows=st.integers(1, 30),
        seed=st.integers(0, 99),
        with_bias=st.booleans(),
    )
    def holds(scheme, outputs, inputs, rows, seed, with_bias):
        weights = make_weights(scheme, (outputs, inputs), dtype, seed)
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(rows, inputs, dtype=torch.float64, generator=generator).to(dtype)
        x[0] = 0
        bias = torch.randn(outputs, dtype=torch.float64, generator=generator).to(dtype) if with_bias else None
        made = kernel(scheme)
        prepared = made.prepare(weights)
        got = made.apply(x, prepared, bias)
        scale, steps = (1.0, x.double().numpy()) if scheme.activation is None else rounded(x, scheme.activation_element)
        whole = dequantize(weights, scheme).numpy()
        expected = scale * (steps @ whole.T) + (0 if bias is None else bias.double().numpy())
        terms = np.abs(scale * steps) @ np.abs(whole).T
        assert got.dtype is dtype
        assert (np.abs(got.double().numpy() - expected) <= ROUNDING[dtype] * (np.abs(expected) + terms) + 1e-12).all()
        for first, last in ((0, 1), (rows - 1, rows), (0, rows // 2), (rows // 3, rows)):
            assert torch.equal(made.apply(x[first:last], prepared, bias), got[first:last])

    holds()


@pytest.mark.parametrize("element, value", [("int8", -128), ("uint8", 255), ("int4", -8), ("uint4", 15)])
def test_the_largest_products_are_exact(isa, element, value):
    """Sums of 16 bits would saturate."""
    scheme = WeightScheme(
        element=element, scales=(ScaleLevel("float32", (1, 0)),), activation="dynamic", activation_element="int8"
    )
    inputs = 32768
    weight = torch.full((17, inputs), value, dtype=torch.uint8 if element.startswith("u") else torch.int8)
    made = kernel(scheme)
    prepared = made.prepare({"weight": weight, "scales": torch.ones(17, 1)})
    signs = torch.ones(2, inputs)
    signs[1, ::2] = -1
    found = made.apply(127 * signs, prepared, None)
    assert torch.equal(found[0].double(), torch.full((17,), 127.0 * inputs * value).float().double())
    assert not found[1].any()


def test_a_row_that_is_not_finite_is_nan_and_disturbs_no_other(isa):
    scheme = WeightScheme(
        element="int4", scales=(ScaleLevel("float32", (1, 8)),), activation="dynamic", activation_element="int8"
    )
    made = kernel(scheme)
    prepared = made.prepare(make_weights(scheme, (5, 24), torch.float32, 0))
    x = torch.randn(4, 24, generator=torch.Generator().manual_seed(0))
    expected = made.apply(x, prepared, None)
    x[1, 3], x[2, 23] = torch.nan, -torch.inf
    found = made.apply(x, prepared, None)
    assert found[1:3].isnan().all()
    assert torch.equal(found[::3], expected[::3])


def test_long_prompts_and_threads_change_no_bit(isa):
    scheme = WeightScheme(
        element="int8", scales=(ScaleLevel("float32", (1, 0)),), activation="dynamic", activation_element="int8"
    )
    made, module = kernel(scheme), native_quantized.native()
    prepared = made.prepare(make_weights(scheme, (70, 200), torch.bfloat16, 0))
    x = torch.randn(900, 200, generator=torch.Generator().manual_seed(0)).bfloat16()
    got = torch.cat([made.apply(part, prepared, None) for part in x.split(7)])
    before = module.pool_threads()
    for threads in (1, 3):
        module.start_pool(threads, [])
        try:
            assert torch.equal(made.apply(x, prepared, None), got)
        finally:
            module.start_pool(before, [])


@pytest.mark.parametrize("permuted", [False, True])
def test_rows_of_a_table_are_dequantized(isa, permuted):
    scheme = WeightScheme(
        element="uint4", scales=(ScaleLevel("float16", (1, 16)),), zero_point="int", permuted=permuted
    )
    weights = make_weights(scheme, (33, 40), torch.float32, 0)
    made, ids = kernel(scheme, "embedding"), torch.tensor([32, 0, 17, 0])
    rows = made.apply(ids, made.prepare(weights), None)
    assert torch.equal(rows, dequantize(weights, scheme)[ids].float())
    head = kernel(scheme)
    assert torch.equal(head.rows(ids, head.prepare(weights)), rows)
    assert (head.has_rows("bfloat16"), made.has_rows("bfloat16"), head.has_rows("float64")) == (True, False, False)
    with pytest.raises(IndexError, match="33"):
        made.apply(torch.tensor([33]), made.prepare(weights), None)


@pytest.mark.parametrize("role", ["linear", "grouped_linear"])
def test_what_was_exported_is_restored(isa, role):
    scheme = WeightScheme(
        element="int4",
        scales=(ScaleLevel("float32", (1, 16)),),
        permuted=True,
        activation="static",
        activation_element="int8",
    )
    shape = (3, 37, 24) if role == "grouped_linear" else (37, 24)
    made, other = kernel(scheme, role), kernel(scheme, role)
    prepared = made.prepare(make_weights(scheme, shape, torch.float32, 0))
    tensors = {name: tensor.clone() for name, tensor in made.export(prepared).items()}
    assert all(tensor.is_contiguous() for tensor in tensors.values())
    x, restored = torch.randn(3, 24), other.restore(tensors)
    if role == "linear":
        assert torch.equal(other.apply(x, restored, None), made.apply(x, prepared, None))
    else:
        assert torch.equal(other.apply_grouped(x, restored, 2), made.apply_grouped(x, prepared, 2))
    assert "panels of" in made.layout("float32")


def test_says_what_it_does_not_serve(monkeypatch):
    scheme = WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),))
    assert "float8" in NativeQuantized.supports("linear", scheme, "float8_e5m2", (4, 4)).reason
    monkeypatch.setattr(native_quantized, "native", lambda: None)
    assert "not built" in NativeQuantized.supports("linear", scheme, "float32", (4, 4)).reason
    assert kernel(scheme).layout("float32") == ""


def of(element, *levels, zero_point=None):
    return WeightScheme(
        element=element, scales=tuple(ScaleLevel(dtype, (1, block)) for dtype, block in levels), zero_point=zero_point
    )


FILES = {
    "Q4_0": (of("int4", ("float16", 32)), 32, 18),
    "Q4_1": (of("uint4", ("float16", 32), zero_point="offset"), 32, 20),
    "Q5_0": (of("int5", ("float16", 32)), 32, 22),
    "Q5_1": (of("uint5", ("float16", 32), zero_point="offset"), 32, 24),
    "Q8_0": (of("int8", ("float16", 32)), 32, 34),
    "Q2_K": (of("uint2", ("uint8", 16), ("float16", 256), zero_point="offset"), 256, 84),
    "Q3_K": (of("int3", ("int8", 16), ("float16", 256)), 256, 110),
    "Q4_K": (of("uint4", ("uint8", 32), ("float16", 256), zero_point="offset"), 256, 144),
    "Q5_K": (of("uint5", ("uint8", 32), ("float16", 256), zero_point="offset"), 256, 176),
    "Q6_K": (of("int6", ("int8", 16), ("float16", 256)), 256, 210),
}
"""Types of GGUF: how they are stored, and the bytes of so many elements in a file (the package `gguf` has the same)."""


@pytest.mark.parametrize("name", FILES)
def test_a_packed_weight_is_hardly_larger_than_in_a_file(isa, name):
    scheme, elements, size = FILES[name]
    shape = (192, 1536)
    weights = make_weights(scheme, shape, torch.float32, 0)
    if name == "Q2_K":  # its sub-scales and offsets have four bits
        weights |= {part: weights[part] % 16 for part in ("scales", "offsets")}
    for activation in (None, "int8"):
        asked = msgspec.structs.replace(scheme, activation=activation and "dynamic", activation_element=activation)
        prepared = kernel(asked).prepare(weights)
        assert prepared.packed.numel() <= 1.1 * shape[0] * shape[1] / elements * size
        x = torch.randn(2, shape[1], generator=torch.Generator().manual_seed(0))
        expected = x.double() @ dequantize(weights, scheme).T
        torch.testing.assert_close(kernel(asked).apply(x, prepared, None).double(), expected, rtol=0.03, atol=0.1)
