"""Keys and values in an LMCache server: shared by engines, kept when they end."""

from __future__ import annotations
