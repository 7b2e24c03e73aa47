"""A proxy in front of several engines."""

from __future__ import annotations
