"""Reads GPTQ checkpoints."""

from __future__ import annotations
