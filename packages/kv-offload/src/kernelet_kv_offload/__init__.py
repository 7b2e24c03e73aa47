"""Keeps keys and values in host memory, and from there on disk."""

from __future__ import annotations
