"""The grammar engine ``xgrammar``."""

from __future__ import annotations
