"""What packages with Triton kernels share: targets, the interpreter, and compilation ahead of time."""

from __future__ import annotations
