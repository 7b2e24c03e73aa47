"""Attention over a paged cache: the suite and the reference."""

from __future__ import annotations

from kernelet.testing.attention.kept import SlowKept
from kernelet.testing.attention.layers import AttentionCapabilities
from kernelet.testing.attention.reference import SlowAttention
from kernelet.testing.attention.suite import AttentionSuite

__all__ = ["AttentionCapabilities", "AttentionSuite", "SlowAttention", "SlowKept"]
