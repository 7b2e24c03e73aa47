"""Prefill in one engine, decode in another, over NIXL."""

from __future__ import annotations
