"""The grammar engine ``outlines``."""

from __future__ import annotations
