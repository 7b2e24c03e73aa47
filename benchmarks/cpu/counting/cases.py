"""The kernels that are counted: buffers of numpy, one call of the native module, and how much work that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FLOAT32, BFLOAT16 = 0, 1
"""Of the enum in native/common/types.h."""

OUTPUTS, INPUTS = 1536, 576
HEADS, KV_HEADS, HEAD_SIZE, BLOCK = 9, 3, 64, 16
"""Of the demo model."""

INT_ROUND_NEVER, INT_ROUND_BY_ROW = 0, 1
INT_ZERO_CONSTANT = 0

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """One kernel with so many rows (or requests).

    Attributes:
        work: Multiply-adds of a call.
        arithmetic: ``"fp32"`` or ``"int8"``; the floor of a multiply-add follows from it.
        call: Runs it once.
    """

    kernel: str
    rows: int
    work: int
    arithmetic: str
    call: Callable[[], None]


FLOORS = {
    "portable": {"fp32": 2 / 4, "int8": 2 / 4},
    "avx2": {"fp32": 1 / 8, "int8": 2 / 16},
}
"""Instructions a multiply-add if there were nothing else: a vector's multiply and add where they are not one; 16-bit
pairs and their sum where no instruction adds products of bytes."""


def floor(isa: str, case: Case) -> float:
    """Instructions a multiply-add at least."""
    return FLOORS[isa][case.arithmetic]


def cases(native: Any, rows: tuple[int, ...]) -> Iterator[Case]:
    """All cases for each number of rows."""
    generator = np.random.default_rng(0)
    for count in rows:
        yield from linear_cases(native, generator, count)
        yield attention_case(native, "attention, decode, context 512", requests=count, tokens=1, context=512)
    yield attention_case(native, "attention, prompt of 128", requests=1, tokens=128, context=128)


def linear_cases(native: Any, generator: np.random.Generator, rows: int) -> Iterator[Case]:
    """A weight [1536, 576] in each form that a kernel of its own reads."""
    work = rows * OUTPUTS * INPUTS
    x = bfloat16(generator.standard_normal((rows, INPUTS)))
    y = aligned(rows * OUTPUTS * 2)

    def call(weight: Any) -> Callable[[], None]:
        return lambda: weight.apply(x.ctypes.data, rows, y.ctypes.data, BFLOAT16, 0)

    dense = dense_weight(native, generator)
    yield Case("linear, bfloat16 weights", rows, work, "fp32", call(dense))
    for name, bits, group, rounding, arithmetic in (
        ("linear, int8 weights", 8, INPUTS, INT_ROUND_NEVER, "fp32"),
        ("linear, int8 weights and inputs", 8, INPUTS, INT_ROUND_BY_ROW, "int8"),
        ("linear, int4 weights", 4, 32, INT_ROUND_NEVER, "fp32"),
        ("linear, int4 weights, int8 inputs", 4, 32, INT_ROUND_BY_ROW, "int8"),
    ):
        weight = int_weight(native, generator, bits, group, rounding)
        yield Case(name, rows, work, arithmetic, call(weight))


def dense_weight(native: Any, generator: np.random.Generator) -> Any:
    """Packed bfloat16 numbers."""
    weight = bfloat16(generator.standard_normal((OUTPUTS, INPUTS)))
    panels = aligned(native.DenseLinear.packed_bytes(BFLOAT16, OUTPUTS, INPUTS))
    native.DenseLinear.pack(BFLOAT16, weight.ctypes.data, INPUTS, OUTPUTS, INPUTS, panels.ctypes.data)
    return native.DenseLinear(BFLOAT16, OUTPUTS, INPUTS, panels.ctypes.data, panels)


def int_weight(native: Any, generator: np.random.Generator, bits: int, group: int, rounding: int) -> Any:
    """Packed symmetric integers with float32 scales."""
    form = native.IntFormat(
        outputs=OUTPUTS,
        inputs=INPUTS,
        group=group,
        block=INPUTS,
        bits=bits,
        origin=1 << (bits - 1),
        element=0,
        scale=0,
        coarse=0,
        zero=INT_ZERO_CONSTANT,
        round=rounding,
        input_scale=0.0,
    )
    elements = generator.integers(0, 1 << bits, (OUTPUTS, INPUTS), dtype=np.uint8)
    scales = generator.random((OUTPUTS, -(-INPUTS // group)), dtype=np.float32)
    packed = aligned(form.nbytes)
    weight = native.IntLinear(form, packed.ctypes.data, packed)
    weight.pack(elements=elements.ctypes.data, scales=scales.ctypes.data, zeros=0, coarse=0, coarse_offsets=0)
    return weight


def attention_case(native: Any, kernel: str, *, requests: int, tokens: int, context: int) -> Case:
    """The last ``tokens`` queries of requests of ``context`` tokens each, over caches of their own."""
    layer = native.AttentionLayer(HEADS, KV_HEADS, HEAD_SIZE, BLOCK, 0, HEAD_SIZE**-0.5, 0.0)
    columns = -(-context // BLOCK)
    starts = np.arange(requests + 1, dtype=np.int32) * tokens
    lengths = np.full(requests, context, dtype=np.int32)
    blocks = 1 + np.arange(requests * columns, dtype=np.int32).reshape(requests, columns)
    slots = np.zeros(requests * tokens, dtype=np.int64)
    step = native.AttentionStep(
        starts.ctypes.data,
        lengths.ctypes.data,
        requests,
        blocks.ctypes.data,
        columns,
        slots.ctypes.data,
        requests * tokens,
    )
    query = bfloat16(np.random.default_rng(0).standard_normal((requests * tokens, HEADS * HEAD_SIZE)))
    out = np.empty_like(query)
    cache = bfloat16(np.random.default_rng(1).standard_normal((1 + blocks.size, 2, KV_HEADS, BLOCK * HEAD_SIZE)))
    seen = sum(context - tokens + 1 + index for index in range(tokens))
    kept = (starts, lengths, blocks, slots, cache)  # whose memory the step reads

    def call() -> None:
        assert kept
        native.attention(
            layer, step, query.ctypes.data, HEADS * HEAD_SIZE, out.ctypes.data, cache.ctypes.data, 0, BFLOAT16
        )

    work = 2 * requests * seen * HEADS * HEAD_SIZE
    return Case(kernel, requests * tokens, work, "fp32", call)


def bfloat16(values: npt.NDArray[np.float64]) -> npt.NDArray[np.uint16]:
    """The upper halves of float32 numbers."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def aligned(size: int) -> Array:
    """Bytes that begin at a cache line."""
    buffer = np.zeros(size + 64, dtype=np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + size]
