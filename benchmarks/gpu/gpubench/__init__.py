"""Checks and times kernels on a machine that reaches no network; packed by tools/gpu_bundle.py."""

from __future__ import annotations
