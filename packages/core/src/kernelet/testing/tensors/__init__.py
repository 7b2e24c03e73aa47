"""What suites of tensors share: comparison in which NaN never passes, and a model's context without an engine."""

from __future__ import annotations

from kernelet.testing.tensors.compare import (
    DTYPES,
    TOLERANCES,
    check_close,
    check_equal,
    check_unchanged,
    largest_error,
)
from kernelet.testing.tensors.context import make_context

__all__ = [
    "DTYPES",
    "TOLERANCES",
    "check_close",
    "check_equal",
    "check_unchanged",
    "largest_error",
    "make_context",
]
