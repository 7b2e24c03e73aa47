"""Tensors as the kernels take them: rows at a constant distance, whose elements lie side by side."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from kernelet.layers.dtypes import wide


class Rows(NamedTuple):
    """Rows of a tensor.

    Attributes:
        tensor: The tensor, or a contiguous copy, which must be kept while its address is used.
        length: Number of rows.
        stride: Elements between the beginnings of two rows.
    """

    tensor: Tensor
    length: int
    stride: int

    @property
    def address(self) -> int:
        return self.tensor.data_ptr()


def rows_of(x: Tensor) -> Rows:
    """All rows of the last axis."""
    size = x.shape[-1]
    if x.is_contiguous():
        return Rows(x, x.numel() // max(size, 1), size)
    if x.dim() == 2 and x.stride(1) == 1:
        return Rows(x, x.shape[0], x.stride(0))
    return rows_of(x.contiguous())


def address(x: Tensor | None) -> int:
    """Where a tensor begins; 0 for none."""
    return 0 if x is None else x.data_ptr()


def is_wide_of(x: Tensor, y: Tensor) -> bool:
    """Whether x is in the wide dtype of y, as a residual stream is."""
    return x.dtype is wide(y.dtype)
