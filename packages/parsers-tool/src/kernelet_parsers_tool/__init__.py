"""Tool-call parsers of the model families that people serve."""

from __future__ import annotations
