"""The grammar engine ``guidance``."""

from __future__ import annotations
