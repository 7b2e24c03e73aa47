"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_attention_flex.conformance import TestFlexAttention, TestPackage

__all__ = ["TestFlexAttention", "TestPackage"]
