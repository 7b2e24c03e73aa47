"""Buffers of numpy in the dtypes of the CPU's kernels, bfloat16 among them, and what they hold as float64."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

DTYPES = ("float32", "bfloat16", "float16", "float64")
"""In the order of the enum in native/common/types.h."""
ROUNDING = {"float32": 2e-6, "bfloat16": 5e-3, "float16": 7e-4, "float64": 1e-14}
"""Of a result's size, with some room for sums in float32."""

Array = npt.NDArray[Any]


def stored(values: npt.ArrayLike, dtype: str) -> Array:
    """A contiguous buffer; bfloat16 as the upper halves of float32 numbers (cut, not rounded)."""
    if dtype == "bfloat16":
        return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.ascontiguousarray(values, dtype)


def read(buffer: Array, dtype: str) -> npt.NDArray[np.float64]:
    """What a buffer holds."""
    if dtype == "bfloat16":
        return (buffer.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return buffer.astype(np.float64)


def wide(dtype: str) -> str:
    """The dtype of sums."""
    return "float64" if dtype == "float64" else "float32"


def room(shape: tuple[int, ...], dtype: str) -> Array:
    """A buffer whose numbers are all NaN: what a kernel leaves out is seen."""
    return stored(np.full(shape, np.nan), dtype)


def aligned(size: int) -> npt.NDArray[np.uint8]:
    """Zeroed bytes at a multiple of 64, as packed weights lie, and not one more: a sanitizer sees what is beyond."""
    libc = ctypes.CDLL(None)
    place = ctypes.c_void_p()
    assert libc.posix_memalign(ctypes.byref(place), ctypes.c_size_t(64), ctypes.c_size_t(max(size, 1))) == 0
    buffer = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(place.value or 0))
    weakref.finalize(buffer.base, libc.free, place)
    buffer[:] = 0
    return buffer


def address(buffer: Array | None) -> int:
    """For the kernels; 0: there is none."""
    return 0 if buffer is None else int(buffer.ctypes.data)
