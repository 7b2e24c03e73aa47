"""Paged attention in FlashInfer."""

from __future__ import annotations
