"""Attention over a paged cache: the suite and the reference."""

from __future__ import annotations
