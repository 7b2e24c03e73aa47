"""Servers: the suite."""

from __future__ import annotations
