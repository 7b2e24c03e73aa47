"""Tensors as the kernels take them: vectors whose elements lie side by side."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Vectors(NamedTuple):
    """Vectors of the last axis.

    Attributes:
        tensor: The tensor, or a contiguous copy.
        number: Of vectors.
        inner: Vectors of an outer row: heads of a token.
        outer_stride: Elements between two outer rows.
        inner_stride: Elements between two vectors of one.
    """

    tensor: Tensor
    number: int
    inner: int
    outer_stride: int
    inner_stride: int


def vectors_of(x: Tensor) -> Vectors:
    """All vectors; copied where two strides do not describe them."""
    size = x.shape[-1]
    number = x.numel() // max(size, 1)
    if x.is_contiguous():
        return Vectors(x, number, 1, size, 0)
    if x.dim() == 2 and x.stride(1) == 1:
        return Vectors(x, number, 1, x.stride(0), 0)
    if x.dim() == 3 and x.stride(2) == 1:
        return Vectors(x, number, x.shape[1], x.stride(0), x.stride(1))
    return vectors_of(x.contiguous())


def rows_of(x: Tensor) -> Tensor:
    """[rows, size] whose elements of a row lie side by side."""
    return x if x.stride(-1) == 1 else x.contiguous()
