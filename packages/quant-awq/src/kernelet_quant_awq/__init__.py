"""Reads AWQ checkpoints."""

from __future__ import annotations
