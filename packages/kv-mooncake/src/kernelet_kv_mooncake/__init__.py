"""Mooncake: prefill and decode in two engines over its transfer engine, and a cache that engines share in its store."""

from __future__ import annotations
