"""Quantizes the weights of any unquantized checkpoint while they are loaded."""

from __future__ import annotations
