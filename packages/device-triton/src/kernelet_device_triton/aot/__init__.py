"""Compiles every kernel for every target on a machine that has none of them, and reads what it would use."""

from __future__ import annotations
