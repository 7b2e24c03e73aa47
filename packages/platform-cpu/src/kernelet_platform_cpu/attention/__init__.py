"""Paged attention in torch."""

from __future__ import annotations
