"""The table of how products are shared out, and what measures it."""

from __future__ import annotations
