"""Comparison of tensors; NaN and infinity never pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import torch
from torch import Tensor

from kernelet.testing.verdict import check

TOLERANCES: Mapping[str, float] = MappingProxyType(
    {"float64": 1e-12, "float32": 2e-5, "bfloat16": 3e-2, "float16": 4e-3}
)
"""By dtype, of sums of products that are rounded here and there: the error of e may be this times ``1 + |e|``."""

DTYPES = tuple(TOLERANCES)
"""Every dtype that a model may have."""


def largest_error(found: Tensor, expected: Tensor) -> float:
    """Largest |found - expected| / (1 + |expected|); infinity where found is not finite. Shapes must be equal."""
    if found.shape != expected.shape:
        return torch.inf
    if not found.numel():
        return 0.0
    exact, wanted = found.detach().cpu().double(), expected.detach().cpu().double()
    error = (exact - wanted).abs() / (1 + wanted.abs())
    return float(error.where(exact.isfinite() & wanted.isfinite(), torch.inf).max())


def check_close(found: Tensor, expected: Tensor, tolerance: float, sentence: str) -> None:
    """Holds a result to the truth: finite, of the same shape, and within ``tolerance * (1 + |expected|)`` everywhere.

    Raises:
        ConformanceError: with the sentence.
    """
    __tracebackhide__ = True
    check(found.shape == expected.shape, f"{sentence}: the shape is {list(found.shape)}, not {list(expected.shape)}")
    error = largest_error(found, expected)
    check(error <= tolerance, f"{sentence} (error {error:.1e}, tolerance {tolerance:.1e})")


def check_equal(found: Tensor, expected: Tensor, sentence: str) -> None:
    """Holds a result to another one bit by bit; NaN never passes.

    Raises:
        ConformanceError: with the sentence.
    """
    __tracebackhide__ = True
    same = found.dtype == expected.dtype and torch.equal(found.detach().cpu(), expected.detach().cpu())
    check(same, sentence)


@contextmanager
def check_unchanged(sentence: str, *tensors: Tensor | None) -> Iterator[None]:
    """Holds what runs inside to not changing tensors.

    Raises:
        ConformanceError: with the sentence.
    """
    __tracebackhide__ = True
    given = [tensor for tensor in tensors if tensor is not None]
    before = [tensor.clone() for tensor in given]
    yield
    check(all(torch.equal(a, b) for a, b in zip(given, before, strict=True)), sentence)
