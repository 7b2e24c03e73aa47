"""Prefill in one engine, decode in another: the protocol, over any transport that reads another process's memory."""

from __future__ import annotations
