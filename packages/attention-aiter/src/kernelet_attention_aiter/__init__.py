"""Paged attention in AITER."""

from __future__ import annotations
