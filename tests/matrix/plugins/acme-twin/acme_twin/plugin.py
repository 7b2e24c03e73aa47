"""Claims the name of another distribution's plugin."""

from __future__ import annotations
