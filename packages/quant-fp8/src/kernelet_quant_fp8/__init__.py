"""Reads checkpoints with fp8 weights, and writes them."""

from __future__ import annotations
