from __future__ import annotations

import numpy as np
import pytest
from number_buffers import DTYPES, ROUNDING, address, aligned, read, room, stored

SHAPES = ((1, 1), (17, 23), (70, 131), (33, 300))
"""Outputs and inputs: parts of panels and vectors, more than one span of sums."""
ROWS = (1, 2, 7, 13)


def dense(native, weight, stride, outputs, inputs, dtype):
    number = DTYPES.index(dtype)
    panels = aligned(native.DenseLinear.packed_bytes(number, outputs, inputs))
    native.DenseLinear.pack(number, address(weight), stride, outputs, inputs, address(panels))
    return native.DenseLinear(number, outputs, inputs, address(panels), panels)


def multiplied(linear, x, rows, outputs, bias, dtype):
    y = room((rows, outputs), dtype)
    linear.apply(address(x), rows, address(y), DTYPES.index(dtype), address(bias))
    return y


def holds(found, expected, terms, dtype):
    error = np.abs(read(found, dtype) - expected)
    return (error <= ROUNDING[dtype] * (np.abs(expected) + terms) + 1e-12).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("outputs, inputs", SHAPES)
def test_dense_weights(native, dtype, outputs, inputs):
    random = np.random.default_rng(outputs)
    stride = inputs + 3  # rows of a wider table; the last ends with it
    table = stored(random.standard_normal((outputs - 1) * stride + inputs), dtype)
    linear = dense(native, table, stride, outputs, inputs, dtype)
    weight = np.stack([read(table, dtype)[row * stride :][:inputs] for row in range(outputs)])
    x = stored(random.standard_normal((max(ROWS), inputs)), dtype)
    bias = stored(random.standard_normal(outputs), dtype)
    expected = read(x, dtype) @ weight.T + read(bias, dtype)
    terms = np.abs(read(x, dtype)) @ np.abs(weight.T)
    for rows in ROWS:
        part = x[:rows].copy()
        found = multiplied(linear, part, rows, outputs, bias, dtype)
        assert holds(found, expected[:rows], terms[:rows], dtype)
        plain = multiplied(linear, part, rows, outputs, None, dtype)
        assert holds(plain, expected[:rows] - read(bias, dtype), terms[:rows], dtype)
    ids = np.array([outputs - 1, 0, outputs // 2])
    got = room((3, inputs), dtype)
    linear.gather(address(ids), 3, address(got))
    assert np.array_equal(read(got, dtype), weight[ids])
    with pytest.raises(IndexError):
        linear.gather(address(np.array([outputs])), 1, address(got))


ZEROS = ("constant", "bytes", "floats")
ROUNDS = ("never", "by row", "by scale")


SCALES = {"floats": np.float32, "halves": np.float16, "bytes": np.uint8, "signed bytes": np.int8, "nibbles": np.uint8}
COARSE = {"none": None, "floats": np.float32, "halves": np.float16}


def level(random, form, shape):
    """Scales or offsets as they are stored."""
    kind = SCALES[form] if form in SCALES else COARSE[form]
    if np.issubdtype(kind, np.floating):
        return (random.random(shape) + 0.5).astype(kind)
    return random.integers(-50 if kind is np.int8 else 1, 16 if form == "nibbles" else 50, shape, dtype=kind)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize(
    "scale, coarse", [("halves", "none"), ("bytes", "halves"), ("signed bytes", "floats"), ("nibbles", "halves")]
)
@pytest.mark.parametrize("rounds", ["never", "by row"])
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_planes_and_levels_of_scales(native, bits, scale, coarse, rounds, dtype):
    random = np.random.default_rng(bits)
    for outputs, inputs, group, block, with_offsets in (
        (5, 8, 8, 32, False),
        (37, 75, 16, 64, True),
        (20, 131, 48, 96, True),
    ):
        if scale == "nibbles" and not with_offsets:
            continue
        shapes = (outputs, -(-inputs // group)), (outputs, -(-inputs // block))
        scales, offsets = level(random, scale, shapes[0]), level(random, scale, shapes[0])
        above = [None if coarse == "none" else level(random, coarse, shapes[1]) for _ in range(2)]
        elements = random.integers(0, 1 << bits, (outputs, inputs), dtype=np.uint8)
        form = native.IntFormat(
            outputs=outputs,
            inputs=inputs,
            group=group,
            block=block,
            bits=bits,
            origin=1 << (bits - 1),
            element=0,
            scale=list(SCALES).index(scale),
            coarse=list(COARSE).index(coarse),
            zero=3 if with_offsets else 0,
            round=("never", "by row").index(rounds),
            input_scale=0.0,
        )
        packed = aligned(form.nbytes)
        linear = native.IntLinear(form, address(packed), packed)
        given = (elements - np.uint8(1 << (bits - 1))).astype(np.uint8)
        merged = scales + 16 * offsets if scale == "nibbles" else scales
        linear.pack(
            elements=address(given),
            scales=address(merged),
            zeros=address(offsets if with_offsets and scale != "nibbles" else None),
            coarse=address(above[0]),
            coarse_offsets=address(above[1] if with_offsets else None),
        )
        of_group, of_block = (
            np.repeat(np.arange(shape[1]), size)[:inputs] for shape, size in zip(shapes, (group, block), strict=True)
        )
        whole, added = (
            values.astype(np.float64)[:, of_group] * (1 if up is None else up.astype(np.float64)[:, of_block])
            for values, up in zip((scales, offsets), above, strict=True)
        )
        weight = (elements - float(1 << (bits - 1))) * whole + (added if with_offsets else 0)
        x = stored(random.standard_normal((max(ROWS), inputs)), dtype)
        used = read(x, dtype)
        if rounds == "by row":
            wide = used if dtype == "float64" else used.astype(np.float32)
            step = np.abs(wide).max(1, keepdims=True) / wide.dtype.type(127)
            used = np.clip(np.rint(wide / step), -127, 127) * step.astype(np.float64)
        expected = used @ weight.T
        terms = np.abs(used) @ (np.abs(weight) + np.abs(weight).max()).T
        got = multiplied(linear, x, max(ROWS), outputs, None, dtype)
        for rows in ROWS:
            found = multiplied(linear, x[:rows].copy(), rows, outputs, None, dtype)
            assert holds(found, expected[:rows], terms[:rows], dtype)
            assert np.array_equal(found, got[:rows])
        table = room((2, inputs), "float32")
        linear.gather(address(np.array([outputs - 1, 0])), 2, address(table))
        assert np.allclose(table, weight[[outputs - 1, 0]], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zero", ZEROS)
@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_integer_weights(native, bits, zero, rounds, dtype):
    random = np.random.default_rng(bits)
    for outputs, inputs, group in ((5, 8, 8), (37, 27, 32), (70, 131, 24)):
        groups = -(-inputs // group)
        elements = random.integers(0, 1 << bits, (outputs, inputs), dtype=np.uint8)
        scales = random.random((outputs, groups), dtype=np.float32) + np.float32(0.5)
        origin = 1 << (bits - 1)
        points, zeros = np.full((outputs, groups), float(origin)), None
        if zero == "bytes":
            zeros = random.integers(0, 1 << bits, (outputs, groups), dtype=np.uint8)
        if zero == "floats":
            zeros = (random.random((outputs, groups), dtype=np.float32) * (1 << bits)).astype(np.float32)
        if zeros is not None:
            points = zeros.astype(np.float64)
        given = (elements - np.uint8(origin)).astype(np.uint8)
        form = native.IntFormat(
            outputs=outputs,
            inputs=inputs,
            group=group,
            block=256,
            bits=bits,
            origin=origin,
            element=0,
            scale=0,
            coarse=0,
            zero=ZEROS.index(zero),
            round=ROUNDS.index(rounds),
            input_scale=0.02 if rounds == "by scale" else 0.0,
        )
        packed = aligned(form.nbytes)
        linear = native.IntLinear(form, address(packed), packed)
        linear.pack(elements=address(given), scales=address(scales), zeros=address(zeros), coarse=0, coarse_offsets=0)
        of_group = np.repeat(np.arange(groups), group)[:inputs]
        weight = (elements - points[:, of_group]) * scales.astype(np.float64)[:, of_group]
        x = stored(random.standard_normal((max(ROWS), inputs)), dtype)
        used = read(x, dtype)
        if rounds != "never":
            step = np.full((max(ROWS), 1), np.float64(np.float32(0.02)))
            if rounds == "by row":
                step = np.abs(used).max(1, keepdims=True) / 127
            if dtype != "float64":
                step = step.astype(np.float32).astype(np.float64)
            used = np.clip(np.rint(used / step), -127, 127) * step
        bias = stored(random.standard_normal(outputs), dtype)
        expected = used @ weight.T + read(bias, dtype)
        terms = np.abs(used) @ (np.abs(weight) + np.abs(weight).max()).T
        whole = multiplied(linear, x, max(ROWS), outputs, bias, dtype)
        for rows in ROWS:
            found = multiplied(linear, x[:rows].copy(), rows, outputs, bias, dtype)
            assert holds(found, expected[:rows], terms[:rows], dtype)
            assert np.array_equal(found, whole[:rows])
        got = room((2, inputs), "float32")
        linear.gather(address(np.array([outputs - 1, 0])), 2, address(got))
        assert np.allclose(got, weight[[outputs - 1, 0]], rtol=1e-5, atol=1e-5)


def test_experts(native):
    random = np.random.default_rng(0)
    hidden, middle, experts, rows, choices = 21, 35, 3, 9, 2
    gate_up = stored(random.standard_normal((experts, 2 * middle, hidden)), "float32")
    down = stored(random.standard_normal((experts, hidden, middle)), "float32")
    network = native.Experts(
        [dense(native, weight.copy(), hidden, 2 * middle, hidden, "float32") for weight in gate_up],
        [dense(native, weight.copy(), middle, hidden, middle, "float32") for weight in down],
        3,
    )
    x = stored(random.standard_normal((rows, hidden)), "float32")
    ids = random.integers(0, experts, (rows, choices))
    out = room((rows, choices, hidden), "float32")
    network.apply(address(x), rows, address(ids), choices, address(out), 0)
    for row in range(rows):
        for choice, expert in enumerate(ids[row]):
            raised = gate_up[expert].astype(np.float64) @ x[row]
            expected = down[expert].astype(np.float64) @ (np.maximum(raised[:middle], 0) * raised[middle:])
            assert np.allclose(out[row, choice], expected, rtol=1e-4, atol=1e-3)
