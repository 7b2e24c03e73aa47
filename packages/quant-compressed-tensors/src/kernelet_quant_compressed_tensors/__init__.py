"""Reads checkpoints of compressed-tensors, and writes int8 ones."""

from __future__ import annotations
