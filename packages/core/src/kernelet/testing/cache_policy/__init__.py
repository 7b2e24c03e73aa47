"""Eviction policies: the suite."""

from __future__ import annotations

from kernelet.testing.cache_policy.suite import CachePolicyCapabilities, CachePolicySuite

__all__ = ["CachePolicyCapabilities", "CachePolicySuite"]
