"""Writes a safetensors file of bfloat16 tensors one at a time, so that the whole model is never in memory.

Format: https://huggingface.co/docs/safetensors. numpy has no bfloat16, and the library's own writer wants every tensor
at once.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping
from math import prod
from pathlib import Path

import numpy as np
import numpy.typing as npt

BYTES = 2
ALIGNMENT = 8


def to_bfloat16(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """Rounds float32 to bfloat16, to the nearest and ties to even; returns the bit patterns, same shape.

    A NaN stays a NaN.
    """
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)
    quiet_nan = ((bits >> np.uint32(16)) | np.uint32(0x0040)).astype(np.uint16)
    return np.where(np.isnan(values), quiet_nan, rounded)


def write(
    path: Path,
    shapes: Mapping[str, tuple[int, ...]],
    tensors: Iterable[tuple[str, npt.NDArray[np.float32]]],
    advance: Callable[[int], None],
) -> None:
    """Writes all of ``tensors`` as bfloat16.

    Args:
        path: File to make.
        shapes: Shape of every tensor, in the order in which ``tensors`` yields them.
        tensors: Names and float32 values.
        advance: Told the bytes written after each tensor.

    Raises:
        ValueError: if ``tensors`` differs from ``shapes`` in order, names or shapes.
    """
    entries: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, shape in shapes.items():
        size = prod(shape) * BYTES
        entries[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-len(header) % ALIGNMENT)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        expected = iter(shapes.items())
        for name, values in tensors:
            if (name, values.shape) != next(expected, None):
                raise ValueError(f"tensor {name} with shape {values.shape} was not announced at this place")
            data = to_bfloat16(values).astype("<u2", copy=False).tobytes()
            file.write(data)
            advance(len(data))
        if (missing := next(expected, None)) is not None:
            raise ValueError(f"tensor {missing[0]} was announced and never came")
