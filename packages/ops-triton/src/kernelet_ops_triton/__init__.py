"""Ops and products with weights in kernels of one language that compiles for devices of several vendors."""

from __future__ import annotations
