"""The grammar engine ``lmfe``."""

from __future__ import annotations
