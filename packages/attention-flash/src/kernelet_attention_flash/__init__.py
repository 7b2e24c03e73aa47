"""Paged attention in FlashAttention 2, 3 and 4."""

from __future__ import annotations
