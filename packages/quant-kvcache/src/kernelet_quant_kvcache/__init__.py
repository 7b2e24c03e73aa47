"""Keeps keys and values in 8 bits."""

from __future__ import annotations
