"""Makes the interpreter right and quicker: kernels on tensors of a CPU, for tests, where TRITON_INTERPRET is set.

As it comes, it computes with the bits of a bfloat16 as if they were a whole number, and cuts instead of rounding.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import torch
import triton.language as tl
from numpy.typing import NDArray
from triton.runtime import interpreter

Handle = Any
Array = NDArray[Any]


def interpreting() -> bool:
    """Whether kernels run in the interpreter, as the environment said when the language was imported."""
    return isinstance(tl.sum, interpreter.InterpretedFunction)


def repair() -> None:
    """Once in a process."""
    builder = interpreter.InterpreterBuilder
    if getattr(builder, "is_repaired", False):
        return
    builder.is_repaired = True
    importlib.import_module("triton.experimental.gluon")  # the first launch does, which would be that of every child
    interpreter.interpreter_builder.options = interpreter.InterpreterOptions(sanitize_overflow=False)
    for name in ("binary_op", "ternary_op", "unary_op", "create_fma"):
        setattr(builder, name, _through_float32(getattr(builder, name)))
    builder.create_dot = _dot
    builder.cast_impl = _cast(builder.cast_impl)
    builder.create_fp_to_fp = _to_float(builder.create_fp_to_fp)
    interpreter.ReduceOps.sum = _reduce(np.add)
    interpreter.ReduceOps.min_max = _min_max(interpreter.ReduceOps.min_max)
    _patch_once()


def _is_bfloat16(handle: Handle) -> bool:
    return isinstance(handle, interpreter.TensorHandle) and handle.dtype.scalar == tl.bfloat16


def _widened(handle: Handle) -> Handle:
    if not _is_bfloat16(handle):
        return handle
    return interpreter.TensorHandle((handle.data.astype(np.uint32) << 16).view(np.float32), tl.float32)


def _narrowed(numbers: Array) -> Array:
    """float32 -> bits of bfloat16: nearest, ties to even; NaN stays."""
    bits = np.ascontiguousarray(numbers, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(numbers), 0x7FC0, rounded).astype(np.uint16)


def _bfloat16(data: Array) -> Handle:
    return interpreter.TensorHandle(_narrowed(data), tl.bfloat16)


def _through_float32(method: Callable[..., Any]) -> Callable[..., Any]:
    """Computes with bfloat16 in float32, and rounds; comparisons stay what they are."""

    def wide(self: Any, *operands: Any) -> Any:
        if not any(map(_is_bfloat16, operands)):
            return method(self, *operands)
        found = method(self, *map(_widened, operands))
        return found if found.data.dtype == np.bool_ else _bfloat16(found.data)

    return wide


def _dot(_self: Any, a: Handle, b: Handle, d: Handle, _precision: Any, _most: Any) -> Handle:
    parts = [_widened(part).data for part in (a, b)]
    for index, part in enumerate((a, b)):
        if part.dtype.primitive_bitwidth == 8 and part.dtype.is_floating():
            half = interpreter._convert_float(part.data, part.dtype, tl.float16, None)  # noqa: SLF001
            parts[index] = half.view(np.float16)
    total = _widened(d).data
    if total.dtype == np.float32 and total.ndim == 2:
        # a row of BLAS depends on where in the matrix it is, that of a matrix unit does not
        product = np.einsum("mk,kn->mn", *(np.ascontiguousarray(part, dtype=np.float32) for part in parts)) + total
    else:
        product = np.matmul(*parts, dtype=total.dtype) + total
    return _bfloat16(product) if _is_bfloat16(d) else interpreter.TensorHandle(product, d.dtype.scalar)


def _cast(method: Callable[..., Any]) -> Callable[..., Any]:
    def cast(self: Any, source: Handle, dtype: Any) -> Handle:
        wide = _widened(source)
        if dtype.scalar != tl.bfloat16:
            return method(self, wide, dtype)
        return source if _is_bfloat16(source) else _bfloat16(wide.data.astype(np.float32))

    return cast


def _to_float(method: Callable[..., Any]) -> Callable[..., Any]:
    """Rounds to the nearest where it narrows, also to 8 bits; what is too large for those becomes the largest."""
    small = {
        tl.float8e4nv: torch.float8_e4m3fn,
        tl.float8e5: torch.float8_e5m2,
        tl.float8e4b8: torch.float8_e4m3fnuz,
        tl.float8e5b16: torch.float8_e5m2fnuz,
    }

    def to_float(self: Any, source: Handle, dtype: Any, rounding: Any) -> Handle:
        wide = _widened(source)
        if source.dtype.scalar in small:
            bits = torch.from_numpy(np.array(source.data))
            wide = interpreter.TensorHandle(bits.view(small[source.dtype.scalar]).float().numpy(), tl.float32)
        if dtype.scalar in small:
            to = small[dtype.scalar]
            numbers = torch.from_numpy(np.array(wide.data, dtype=np.float32))
            most = torch.finfo(to).max
            bits = numbers.clamp(-most, most).to(to).view(torch.uint8)
            return interpreter.TensorHandle(bits.numpy(), dtype.scalar)
        if dtype.scalar == tl.bfloat16 or source.dtype.scalar in small:
            return self.cast_impl(wide, dtype)
        return method(self, wide, dtype, rounding) if wide.dtype != dtype.scalar else wide

    return to_float


def _reduce(ufunc: Any) -> Callable[..., Any]:
    def reduce(self: Any, given: Any) -> Any:
        data = _widened(given.handle).data
        found = ufunc.reduce(data, axis=self.axis, keepdims=self.keep_dims)
        return self.to_tensor(_narrowed(found) if _is_bfloat16(given.handle) else found, given.dtype)

    return reduce


def _min_max(method: Callable[..., Any]) -> Callable[..., Any]:
    """The stock one warns of rows of NaN alone."""

    def min_max(self: Any, given: Any, val_reduce_op: Any, idx_reduce_op: Any = None) -> Any:
        one = given[0] if isinstance(given, tuple) else given
        if idx_reduce_op is None:
            return _reduce(np.fmax if val_reduce_op is np.nanmax else np.fmin)(self, one)
        wide = _widened(one.handle)
        found, index = method(self, self.to_tensor(wide.data, wide.dtype), val_reduce_op, idx_reduce_op)
        narrow = _narrowed(found.handle.data) if _is_bfloat16(one.handle) else found.handle.data
        return self.to_tensor(narrow, one.dtype), index

    return min_max


def _patch_once() -> None:
    """Patches the language once a launch, not at each call of a function; and numpy keeps quiet, as devices do."""
    patch, launch = interpreter._patch_lang, interpreter.GridExecutor.__call__  # noqa: SLF001

    def kernel() -> None:
        raise NotImplementedError

    everything = FunctionType(kernel.__code__, {"tl": tl, "core": tl.core})
    launched = [False]

    def patch_once(_function: Any) -> Any:
        if launched[0]:
            return interpreter._LangPatchScope()  # noqa: SLF001
        launched[0] = True
        return patch(everything)

    def quiet_launch(self: Any, *args: Any, **options: Any) -> Any:
        launched[0] = False
        with np.errstate(all="ignore"):
            return launch(self, *args, **options)

    interpreter._patch_lang = patch_once  # noqa: SLF001
    interpreter.GridExecutor.__call__ = quiet_launch
