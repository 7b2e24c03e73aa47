"""Engines side by side: what is measured, in which processes, and what came of it."""

from __future__ import annotations
