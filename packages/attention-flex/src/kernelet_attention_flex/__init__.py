"""Paged attention on torch's ``flex_attention``."""

from __future__ import annotations
