"""Weights from a checkpoint to layers: readers, names, and the loop that leaves no tensor out."""

from __future__ import annotations
