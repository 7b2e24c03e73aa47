"""KV connectors of an engine: who they are, what they are given, and how they come and go."""

from __future__ import annotations
