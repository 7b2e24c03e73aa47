"""Ops of the ladder in the extension's kernels: the bits of a row depend on that row alone."""

from __future__ import annotations
